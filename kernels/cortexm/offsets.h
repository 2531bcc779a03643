/* SPDX-License-Identifier: 0BSD */
#include "dense.h"

/*
 * Packed weights of nine bits: the weights of even channels are unsigned bytes, those of odd channels 128 more than in the stream.
 * Behind the other pairs of taps `sums` pairs hold the negated sum of all others; their weight is the offset of each channel.
 */
enum { AIDGE_CORTEXM_MINUS_ONES = -1 };

/* A negated sum as `sums` words that are `step` words apart: each half takes what fits it. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_put_sum(uint32_t *target, int32_t step, int32_t sums, int32_t total)
{
    for (; sums > 0; sums--) {
        const int32_t low = aidge_cortexm_clamp(total, -32768, 32767);
        const int32_t high = aidge_cortexm_clamp(total - low, -32768, 32767);
        *target = aidge_cortexm_pair(low, high);
        total -= low + high;
        target += step;
    }
}

#if !AIDGE_CORTEXM_FPU
/* The sum of `pairs` words that are `step` words apart, negated, behind them. */
AIDGE_CORTEXM_C void aidge_cortexm_sum_column(uint32_t *column, int32_t step, int32_t pairs, int32_t sums)
{
    uint32_t total = 0;
    for (; pairs > 0; pairs--) {
        total = aidge_cortexm_dot(*column, (uint32_t)AIDGE_CORTEXM_MINUS_ONES, total);
        column += step;
    }
    aidge_cortexm_put_sum(column, step, sums, (int32_t)total);
}

/* A pair of taps more in the sums of a group of channels; returns what stands behind its weights. */
AIDGE_CORTEXM_C const int32_t *aidge_cortexm_offset_pair(const int32_t *weights, uint32_t taps, uint32_t *sums, int32_t packed)
{
    const int32_t words = aidge_cortexm_is_half(packed) != 0 ? 1 : 2;
    int32_t i;
    for (i = 0; i < words; i++) {
        const uint32_t both = (uint32_t)*weights++;
        sums[2 * i] = aidge_cortexm_dot(both & 0x00FF00FFu, taps, sums[2 * i]);
        sums[2 * i + 1] = aidge_cortexm_dot(both, taps, sums[2 * i + 1]);
    }
    return weights;
}

/* As aidge_cortexm_two_groups; the taps that hold sums are `behind` the others, one in each plane. */
AIDGE_CORTEXM_C const int32_t *aidge_cortexm_two_offset_groups(const uint32_t *column, int32_t second, const aidge_cortexm_taps *taps,
                                                               const uint32_t *behind, int32_t sums, const int32_t *group,
                                                               int8_t *output, int32_t second_output, const int32_t *head,
                                                               int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const start = group;
    const int32_t *next = group;
    int32_t pixel, plane, tap;
    for (pixel = 0; pixel < 2; pixel++) {
        const uint32_t *values = column + pixel * second;
        const int32_t *weights;
        uint32_t totals[4];
        weights = aidge_cortexm_biases(start, totals, packed);
        for (plane = taps->planes; plane > 0; plane--) {
            for (tap = 0; tap < taps->count; tap++) {
                weights = aidge_cortexm_offset_pair(weights, values[taps->taps[tap]], totals, packed);
            }
            values += taps->step;
        }
        for (plane = 0; plane < sums; plane++) {
            weights = aidge_cortexm_offset_pair(weights, behind[plane * taps->step + pixel * second], totals, packed);
        }
        next = aidge_cortexm_store_group(totals[0], totals[1], totals[2], totals[3], start, weights, output + pixel * second_output,
                                         head, packed, shift, form);
    }
    return next;
}
#endif
