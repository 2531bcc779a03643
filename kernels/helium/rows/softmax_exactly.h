/* SPDX-License-Identifier: 0BSD */
#include "kit/quotient.h"
#include "core/mve.h"

/*
 * The words of a softmax of int8 values: the stored zero point; 2^shift / factor, and the largest relative error of a quotient
 * in float32; the highest level and the zero point, both on top of 1.5 * 2^23, which rounds a float to the integer in its low
 * bits; then the constants for quotients of whole numbers as in arithmetic/softmax.py. Floats are stored as their bits.
 */
enum {
    AIDGE_HELIUM_SOFTMAX_ZERO,
    AIDGE_HELIUM_SOFTMAX_SCALE,
    AIDGE_HELIUM_SOFTMAX_UNIT,
    AIDGE_HELIUM_SOFTMAX_HIGHEST,
    AIDGE_HELIUM_SOFTMAX_ROUNDING,
    AIDGE_HELIUM_SOFTMAX_LENGTH, /* of a row */
    AIDGE_HELIUM_SOFTMAX_SHIFT,
    AIDGE_HELIUM_SOFTMAX_FACTOR /* two words, the lower one first */
};

#define AIDGE_HELIUM_SOFTMAX_DECIDED 0.49999f /* from a level, with all that a quotient may err */
#define AIDGE_HELIUM_SOFTMAX_DECIDED_BITS 0x3EFFFEB0u /* of that float */
#define AIDGE_HELIUM_SOFTMAX_LAST 255 /* where the exponential of a row's largest value stands */

/* The levels of rows in whole numbers, one by one; elements of a row are `step` apart, rows are `next` apart. */
AIDGE_KIT_NOINLINE void aidge_helium_softmax_exactly(const int8_t *input, int8_t *output, const uint32_t *exponentials,
                                                     const int32_t *numbers, int32_t rows, int32_t step, int32_t next)
{
    const uint64_t factor = (uint32_t)numbers[AIDGE_HELIUM_SOFTMAX_FACTOR]
                            + aidge_kit_shift_left((uint32_t)numbers[AIDGE_HELIUM_SOFTMAX_FACTOR + 1], 32);
    const int32_t end = numbers[AIDGE_HELIUM_SOFTMAX_LENGTH] * step;
    for (; rows > 0; rows--) {
        int32_t largest = -128;
        uint64_t divisor = 0;
        aidge_kit_divisor by;
        int32_t i;
        AIDGE_KIT_ROLLED
        for (i = 0; i < end; i += step) {
            largest = input[i] > largest ? input[i] : largest;
        }
        largest -= AIDGE_HELIUM_SOFTMAX_LAST;
        for (i = 0; i < end; i += step) {
            divisor += exponentials[input[i] - largest];
        }
        by = aidge_kit_divisor_of(aidge_kit_multiply(divisor, factor));
        for (i = 0; i < end; i += step) {
            const uint64_t dividend = aidge_kit_shift_left(exponentials[input[i] - largest], numbers[AIDGE_HELIUM_SOFTMAX_SHIFT]);
            const int32_t value = (int32_t)aidge_kit_rounded_quotient(dividend, &by) + numbers[AIDGE_HELIUM_SOFTMAX_ZERO];
            output[i] = (int8_t)(value > 127 ? 127 : value);
        }
        input += next;
        output += next;
    }
}
