/* SPDX-License-Identifier: 0BSD */
#include "exponential.h"
#include "softmax.h"

/*
 * Softmax of rows of neighbouring int8 values: with T[k] = exponentials[k] at k = (largest value of the row) - x and S the sum of
 * T over the row, output = saturate(rint_half_even((T << shift) / (S * factor)) + zero point).
 *
 * exponentials: [256], or if they are_factored [40] as above; quotient: {shift, factor}; zero_point: one number.
 */
AIDGE_KIT_INLINE void aidge_kit_softmax_rows_int8(const int8_t *input, int8_t *output, const uint32_t *exponentials,
                                                  const uint64_t *quotient, const int32_t *zero_point, int32_t rows,
                                                  int32_t length, int32_t are_factored)
{
    for (; rows > 0; rows--) {
        const int8_t *const end = input + length;
        const int8_t *x;
        const uint32_t *largest_exponential;
        aidge_kit_row_quotient by;
        uint64_t sum = 0;
        int32_t largest = -128;
        for (x = input; x != end; x++) {
            largest = *x > largest ? *x : largest;
        }
        largest_exponential = exponentials + (are_factored != 0 ? 0 : largest);
        for (x = input; x != end; x++) {
            sum += are_factored != 0 ? aidge_kit_exponential(exponentials, (uint32_t)(largest - *x)) : largest_exponential[-*x];
        }
        by = aidge_kit_row_quotient_of(aidge_kit_multiply(sum, quotient[1]), (int32_t)quotient[0]);
        {
            const int32_t zero = *zero_point;
            const uint32_t factor = by.factor;
            const uint32_t half = by.half;
            const int32_t shift = by.shift;
            for (x = input; x != end; x++) {
                const uint32_t exponential =
                    are_factored != 0 ? aidge_kit_exponential(exponentials, (uint32_t)(largest - *x)) : largest_exponential[-*x];
                const uint32_t level = shift > 31 ? 0u : aidge_kit_row_level(exponential, &by, factor, half, shift);
                const int32_t stored = (int32_t)level + zero;
                *output++ = (int8_t)(stored > 127 ? 127 : stored);
            }
        }
        input = end;
    }
}
