/* SPDX-License-Identifier: 0BSD */
#include "kit/fixed.h"

/*
 * The mean of rows, int8: sums less their zero points, requantized by one factor.
 *
 * outer blocks of `inner` rows, whose `length` values lie `inner` apart;
 * numbers: {zero point of the input times length, multiplier, shift, zero point of the output}.
 */
static void aidge_ref_mean_double_int8(const int8_t *input, int8_t *output, const int32_t *numbers, int32_t outer,
                                       int32_t length, int32_t inner)
{
    int32_t block, row, i;
    for (block = 0; block < outer; block++) {
        for (row = 0; row < inner; row++) {
            const int8_t *x = input + row;
            int32_t sum = -numbers[0];
            for (i = length; i > 0; i--) {
                sum += *x;
                x += inner;
            }
            sum = aidge_kit_scale_fixed(sum, numbers[1], numbers[2]) + numbers[3];
            sum = sum < -128 ? -128 : sum;
            *output++ = (int8_t)(sum > 127 ? 127 : sum);
        }
        input += length * inner;
    }
}
