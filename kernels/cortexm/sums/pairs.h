/* SPDX-License-Identifier: 0BSD */
#include "dense.h"

/* A row of pairs of pixels: what its assembly reads, in this order. Of an odd number the last pair overlaps the one before. */
typedef struct {
    int32_t pairs;
    int32_t second_input, second_output;  /* bytes from the first pixel of a pair to the second */
    int32_t back_input, back_output;      /* bytes that the last pair goes back */
    int32_t output_step;                  /* bytes from pair to pair, less those that the groups have advanced */
    int32_t input_step;                   /* bytes from pair to pair */
    int32_t stream_bytes;
} aidge_cortexm_run;

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
/* A tap of a pixel; behind the taps there is none. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_tap(const int8_t *pixel, const int16_t *gather, int32_t tap)
{
    const int32_t place = gather != NULL ? gather[tap] : tap - (tap & 3) + ((tap & 1) << 1) + ((tap >> 1) & 1); /* 0, 2, 1, 3 */
    return place < 0 ? 0 : pixel[place];
}

/* The taps of two pixels as a column, with the negated sums of both behind them. */
AIDGE_CORTEXM_C void aidge_cortexm_fill_column(uint32_t *column, const int8_t *source, int32_t second, const int16_t *gather,
                                               int32_t taps, int32_t sums)
{
    int32_t pixel, tap;
    for (pixel = 0; pixel < 2; pixel++) {
        uint32_t total = 0;
        for (tap = 0; tap < taps; tap += 2) {
            const uint32_t pair = aidge_cortexm_pair(aidge_cortexm_tap(source, gather, tap), aidge_cortexm_tap(source, gather, tap + 1));
            column[tap + pixel] = pair;
            total = aidge_cortexm_dot(pair, (uint32_t)AIDGE_CORTEXM_MINUS_ONES, total);
        }
        aidge_cortexm_put_sum(column + taps + pixel, 2, sums, (int32_t)total);
        source += second;
    }
}

/*
 * All channels of a row of pairs: the C version of the generated functions that end in `_row`, and of a pointwise layer. Pixels are
 * read from planes, as `taps` says; or their taps are gathered into a `column`, in the order of `gather` [taps] (-1: none), or of
 * words of 4 bytes that become pairs.
 */
AIDGE_CORTEXM_C void aidge_cortexm_pairs_row(const void *input, int8_t *output, const int32_t *stream, const aidge_cortexm_run *run,
                                             const aidge_cortexm_taps *taps, uint32_t *column, const int16_t *gather,
                                             int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const end = stream + run->stream_bytes / 4;
    const int8_t *source = (const int8_t *)input;
    int32_t pair;
    for (pair = run->pairs; pair > 0; pair--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        if ((pair == 1) && (run->pairs > 1)) {
            source -= run->back_input;
            output -= run->back_output;
        }
        if (column != NULL) {
            aidge_cortexm_fill_column(column, source, run->second_input, gather, 2 * taps->planes, packed / AIDGE_CORTEXM_SUMS);
        }
        while (group != end) {
            group = column != NULL
                ? aidge_cortexm_two_groups(column, 1, taps, group, output, run->second_output, stream, packed, shift, form)
                : aidge_cortexm_two_groups((const uint32_t *)(const void *)source, run->second_input / 4, taps, group, output,
                                           run->second_output, stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        source += run->input_step;
        output += run->output_step;
    }
}
#endif
