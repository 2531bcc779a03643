/* SPDX-License-Identifier: 0BSD */
#include <string.h>

#include "softmax.h"

/*
 * Softmax of rows of neighbouring int8 values: with T[k] the exponential for k = (largest value of the row) - x and S the sum of
 * T over the row, output = saturate(rint_half_even((T << shift) / (S * factor)) + zero point).
 *
 * exponentials: [256], T[255] first; quotient: {shift, factor}; zero_point: one number.
 */
AIDGE_KIT_INLINE void aidge_kit_softmax_rows_int8(const int8_t *input, int8_t *output, const uint32_t *exponentials,
                                                  const uint64_t *quotient, const int32_t *zero_point, int32_t rows,
                                                  int32_t length)
{
    for (; rows > 0; rows--) {
        const int8_t *const end = input + length;
        const int8_t *const even = input + (length & 1);
        const int8_t *x;
        const uint32_t *last;
        aidge_kit_row_quotient by;
        uint64_t sum = 0;
        int32_t largest = *input;
        AIDGE_KIT_ROLLED
        for (x = even; x != end; x += 2) {
            largest = x[0] > largest ? x[0] : largest;
            largest = x[1] > largest ? x[1] : largest;
        }
        last = exponentials + (255 - largest);
        if (even != input) {
            sum = last[*input];
        }
        AIDGE_KIT_ROLLED
        for (x = even; x != end; x += 2) { /* a term is 2^30 at most */
            sum += last[x[0]] + last[x[1]];
        }
        by = aidge_kit_row_quotient_of(aidge_kit_multiply(sum, quotient[1]), (int32_t)quotient[0]);
        if (by.shift > 31) { /* every level is 0 */
            (void)memset(output, *zero_point, (size_t)length);
            output += length;
        } else {
            const int32_t zero = *zero_point;
            const uint32_t factor = by.factor;
            const uint32_t half = by.half;
            const int32_t shift = by.shift;
            AIDGE_KIT_ROLLED
            for (x = input; x != end; x++) {
                const int32_t stored = (int32_t)aidge_kit_row_level(last[*x], &by, factor, half, shift) + zero;
                *output++ = (int8_t)(stored > 127 ? 127 : stored);
            }
        }
        input = end;
    }
}
