/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "recurrent.h"
#include "kit/common_exponent.h"

/* In scratch before x: what sums begin with, twice for each side, and the units of the integers. */
typedef struct {
    int32_t of_data[2], of_state[2];
    float unit_of_state, unit_of_data;
} aidge_cortexm_recurrent_units;

/* Both halfwords of a less those of b: SSUB16. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_less(uint32_t a, uint32_t b)
{
#if AIDGE_CORTEXM_DSP
    return (uint32_t)__ssub16((int16x2_t)a, (int16x2_t)b);
#else
    return aidge_cortexm_pair(aidge_cortexm_low(a) - aidge_cortexm_low(b), aidge_cortexm_high(a) - aidge_cortexm_high(b));
#endif
}

/* Data of int8 less their zero point as pairs of halfwords, of 4 the first with the third; 0 behind an odd number of them. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_recurrent_pairs(aidge_cortexm_recurrent_units *units, int32_t *pairs,
                                                          const int8_t *data, int32_t count, int32_t zero_point)
{
    const uint32_t zeros = aidge_cortexm_pair(zero_point, zero_point);
    uint32_t sum = 0;
    for (; count >= 4; count -= 4) {
        const uint32_t word = aidge_cortexm_load(data);
        const uint32_t even = aidge_cortexm_less(aidge_cortexm_even_bytes(word), zeros);
        const uint32_t odd = aidge_cortexm_less(aidge_cortexm_odd_bytes(word), zeros);
        sum = aidge_cortexm_dot(odd, 0x00010001u, aidge_cortexm_dot(even, 0x00010001u, sum));
        *pairs++ = (int32_t)even;
        *pairs++ = (int32_t)odd;
        data += 4;
    }
    for (; count > 0; count -= 2) {
        const int32_t first = *data++ - zero_point;
        const int32_t second = count > 1 ? *data++ - zero_point : 0;
        *pairs++ = (int32_t)aidge_cortexm_pair(first, second);
        sum += (uint32_t)(first + second);
    }
    units->of_data[0] = units->of_data[1] = -128 * (int32_t)sum;
}

/* What sums of products by these integers begin with: 128 times all of them, less 16 bits, to be taken off. Both roundings, this
   one and that of the products, are half a unit too low on average. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_recurrent_start(int32_t *starts, const int32_t *integers, int32_t count)
{
    int32_t sum = 0;
    for (; count > 0; count--) {
        sum -= *integers++ >> 9;
    }
    starts[0] = starts[1] = sum;
}

/* Data, or a state, as integers below 2^bits with one exponent. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_recurrent_data(aidge_cortexm_recurrent_units *units, int32_t *integers,
                                                         const float *values, int32_t count, int32_t bits)
{
    units->unit_of_data = aidge_kit_common_exponent(values, integers, count, bits);
    aidge_cortexm_recurrent_start(units->of_data, integers, count);
}

AIDGE_CORTEXM_NOINLINE void aidge_cortexm_recurrent_state(aidge_cortexm_recurrent_units *units, int32_t *integers,
                                                          const float *values, int32_t count, int32_t bits)
{
    units->unit_of_state = aidge_kit_common_exponent(values, integers, count, bits);
    aidge_cortexm_recurrent_start(units->of_state, integers, count);
}

/* A state within +-1 or hardly more, times factor. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_recurrent_bounded_c(aidge_cortexm_recurrent_units *units, int32_t *integers,
                                                            const float *values, int32_t count, float factor)
{
    int32_t index;
    for (index = 0; index < count; index++) {
        const float value = values[index];
        integers[index] = value >= -1.5f && value <= 1.5f ? (int32_t)(value * factor) : 0;
    }
    aidge_cortexm_recurrent_start(units->of_state, integers, count);
}

/* The halfword `half` of a word, signed. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_half_of(uint32_t word, int32_t half)
{
    return half != 0 ? aidge_cortexm_high(word) : aidge_cortexm_low(word);
}

/* sum + value * halfword / 2^16: SMLAWB and SMLAWT. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_wide_product(int32_t value, uint32_t word, int32_t half, int32_t sum)
{
    return sum + (int32_t)(((int64_t)value * aidge_cortexm_half_of(word, half)) >> 16);
}

/* The four sums of a group over `count` columns of 32-bit numbers. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_wide_sums(int32_t *sums, const int32_t *stream, const int32_t *values,
                                                            int32_t count, int32_t start)
{
    int32_t row;
    for (row = 0; row < 4; row++) {
        sums[row] = start;
    }
    for (; count > 0; count--) {
        const uint32_t word = (uint32_t)*stream++;
        const uint32_t shifted = (word << 8) ^ 0x80808080u;
        for (row = 0; row < 4; row++) {
            sums[row] = aidge_cortexm_wide_product(*values, row % 2 ? word : shifted, row / 2, sums[row]);
        }
        values++;
    }
    for (row = 1; row < 4; row++) {
        sums[row] -= sums[row - 1] >> 8;
    }
    return stream;
}

/* The same over pairs of columns of halfwords; 256 times the sums of odd rows. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_pair_sums(int32_t *sums, const int32_t *stream, const int32_t *pairs,
                                                            int32_t count, int32_t start)
{
    int32_t row;
    for (row = 0; row < 4; row++) {
        sums[row] = start;
    }
    for (; count > 0; count--) {
        const uint32_t pair = (uint32_t)*pairs++;
        for (row = 0; row < 4; row += 2) {
            const uint32_t word = (uint32_t)*stream++;
            sums[row + 1] = (int32_t)aidge_cortexm_dot(pair, word, (uint32_t)sums[row + 1]);
            sums[row] = (int32_t)aidge_cortexm_dot(pair, word & 0x00FF00FFu, (uint32_t)sums[row]);
        }
    }
    sums[1] -= sums[0];
    sums[3] -= sums[2];
    return stream;
}

/* The C version of recurrent_sums.py; of bytes at most 232 columns come together. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_row_sums_c(const int32_t *x, float *sums, const int32_t *stream, const int32_t *end,
    const int32_t *state, const aidge_cortexm_recurrent_units *units, int32_t data, int32_t are_bytes, int32_t hidden,
    int32_t is_bounded)
{
    while (stream != end) {
        const float unit_of_state = is_bounded != 0 ? 1.0f : units->unit_of_state;
        float real[8], factors[4];
        int32_t totals[4], row, first;
        for (first = 0; are_bytes && first < data; first += 232) {
            const int32_t pairs = ((data - first < 232 ? data - first : 232) + 1) / 2;
            stream = aidge_cortexm_pair_sums(totals, stream, x + first / 2, pairs, first == 0 ? units->of_data[0] : 0);
            if (first == 0) {
                (void)memcpy(real, stream, sizeof real);
                stream += 8;
            }
            for (row = 0; row < 4; row++) {
                real[row] += (float)totals[row] * real[4 + row];
            }
        }
        if (data > 0 && !are_bytes) {
            stream = aidge_cortexm_wide_sums(totals, stream, x, data, units->of_data[0]);
            (void)memcpy(real, stream, sizeof real);
            stream += 8;
            for (row = 0; row < 4; row++) {
                real[row] += (float)totals[row] * units->unit_of_data * real[4 + row];
            }
        }
        if (hidden > 0) {
            stream = aidge_cortexm_wide_sums(totals, stream, state, hidden, units->of_state[0]);
            if (data == 0) {
                (void)memcpy(real, stream, 4u * sizeof *real);
                stream += 4;
            }
            (void)memcpy(factors, stream, sizeof factors);
            stream += 4;
            for (row = 0; row < 4; row++) {
                real[row] += (float)totals[row] * unit_of_state * factors[row];
            }
        }
        (void)memcpy(sums, real, 4u * sizeof *real);
        sums += 4;
    }
}
