/* SPDX-License-Identifier: 0BSD */
#include "kit/exponential.h"
#include "kit/quotient.h"
#include "shared/softmax_shape.h"

/*
 * Softmax, int8: with T[k] = exponentials[k] at k = (largest value of the row) - x and S the sum of T over the row,
 * output = saturate(rint_half_even((T << shift) / (S * factor)) + zero point).
 *
 * exponentials: [256], or if they are_factored [40] as in kit/exponential.h; quotient: {shift, factor}; the generator has chosen
 * them so that uint64 holds every term twice.
 */
AIDGE_KIT_INLINE void aidge_ref_softmax_int8_of(const int8_t *input, int8_t *output, const uint32_t *exponentials,
                                                const uint64_t *quotient, const int32_t *zero_point,
                                                const aidge_ref_softmax_shape *shape, int32_t are_factored)
{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    const int32_t shift = (int32_t)quotient[0];
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {
        for (row = 0; row < inner; row++) {
            int32_t largest = -128;
            uint64_t divisor = 0;
            aidge_kit_divisor by;
            for (i = row; i < size; i += inner) {
                largest = input[i] > largest ? input[i] : largest;
            }
            for (i = row; i < size; i += inner) {
                const uint32_t k = (uint32_t)(largest - input[i]);
                divisor += are_factored != 0 ? aidge_kit_exponential(exponentials, k) : exponentials[k];
            }
            by = aidge_kit_divisor_of(aidge_kit_multiply(divisor, quotient[1]));
            for (i = row; i < size; i += inner) {
                const uint32_t k = (uint32_t)(largest - input[i]);
                const uint32_t exponential = are_factored != 0 ? aidge_kit_exponential(exponentials, k) : exponentials[k];
                const uint64_t dividend = aidge_kit_shift_left(exponential, shift);
                const int32_t value = (int32_t)aidge_kit_rounded_quotient(dividend, &by) + *zero_point;
                output[i] = (int8_t)(value > 127 ? 127 : value);
            }
        }
        input += size;
        output += size;
    }
}

static void aidge_ref_softmax_int8(const int8_t *input, int8_t *output, const uint32_t *exponentials, const uint64_t *quotient,
                                   const int32_t *zero_point, const aidge_ref_softmax_shape *shape)
{
    aidge_ref_softmax_int8_of(input, output, exponentials, quotient, zero_point, shape, 0);
}

/* The same with exponentials of two factors. */
AIDGE_KIT_NOINLINE void aidge_ref_softmax_factored_int8(const int8_t *input, int8_t *output, const uint32_t *exponentials,
                                                        const uint64_t *quotient, const int32_t *zero_point,
                                                        const aidge_ref_softmax_shape *shape)
{
    aidge_ref_softmax_int8_of(input, output, exponentials, quotient, zero_point, shape, 1);
}
