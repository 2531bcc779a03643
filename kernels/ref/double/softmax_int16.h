/* SPDX-License-Identifier: 0BSD */
#include "double/elements.h"
#include "shared/softmax_shape.h"

/* The line between two of 513 entries over the int16 numbers. */
static inline int32_t aidge_ref_line_double(int32_t value, const int16_t *table)
{
    const int16_t *at = table + (value >> 7) + 256;
    return at[0] + (((at[1] - at[0]) * (value & 127) + 64) >> 7);
}

/*
 * Softmax, int16, in units of 2^-15 (arithmetic/halfword_softmax.py); exponentials, reciprocals: [513].
 * Ranges: the generator has proved that no difference of two values, shifted to the left, leaves int32.
 */
static void aidge_ref_softmax_double_int16(const int16_t *input, int16_t *output, const int16_t *exponentials,
                                           const int16_t *reciprocals, const int32_t *factor,
                                           const aidge_ref_softmax_shape *shape)
{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {
        for (row = 0; row < inner; row++) {
            int32_t largest = -32768;
            int32_t sum = 0;
            int32_t bits, inverse;
            for (i = row; i < size; i += inner) {
                largest = input[i] > largest ? input[i] : largest;
            }
            for (i = row; i < size; i += inner) {
                const int32_t place = aidge_kit_scale_fixed(input[i] - largest, factor[0], factor[1]) + 32767;
                output[i] = (int16_t)aidge_ref_line_double(aidge_ref_between_double(place, -32768, 32767), exponentials);
                sum += output[i];
            }
            bits = aidge_kit_bits((uint32_t)sum);
            inverse = (int32_t)((((uint32_t)sum << (31 - bits)) + 0x2000u) >> 14) - 0x18000;
            inverse = aidge_ref_line_double(aidge_ref_between_double(inverse, -32768, 32767), reciprocals);
            for (i = row; i < size; i += inner) {
                const int32_t level = (output[i] * inverse + ((int32_t)1 << (bits - 2))) >> (bits - 1);
                output[i] = (int16_t)aidge_ref_between_double(level, 0, 32767);
            }
        }
        input += size;
        output += size;
    }
}
