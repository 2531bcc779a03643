/* SPDX-License-Identifier: 0BSD */
#include "shared/softmax_shape.h"

/*
 * Softmax, int8: with T[k] = exponentials[k] at k = (largest value of the row) - x and S the sum of T over the row,
 * output = saturate(rint_half_even((T << shift) / (S * factor)) + zero point).
 *
 * exponentials: [256]; quotient: {shift, factor}; the generator has chosen them so that uint64 holds every term twice.
 */
static void aidge_ref_softmax_int8(const int8_t *input, int8_t *output, const uint32_t *exponentials, const uint64_t *quotient,
                                   const int32_t *zero_point, const aidge_ref_softmax_shape *shape)
{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {
        for (row = 0; row < inner; row++) {
            int32_t largest = -128;
            uint64_t divisor = 0;
            for (i = row; i < size; i += inner) {
                largest = input[i] > largest ? input[i] : largest;
            }
            for (i = row; i < size; i += inner) {
                divisor += exponentials[largest - input[i]];
            }
            divisor *= quotient[1];
            for (i = row; i < size; i += inner) {
                const uint64_t dividend = (uint64_t)exponentials[largest - input[i]] << quotient[0];
                uint64_t level = dividend / divisor;
                const uint64_t rest = dividend - level * divisor;
                int32_t value;
                level += (uint64_t)((rest > divisor - rest) || ((rest == divisor - rest) && ((level & 1u) != 0u)));
                value = (int32_t)(level < 256u ? level : 256u) + *zero_point;
                output[i] = (int8_t)(value > 127 ? 127 : value);
            }
        }
        input += size;
        output += size;
    }
}
