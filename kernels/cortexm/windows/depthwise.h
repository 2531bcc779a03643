/* SPDX-License-Identifier: 0BSD */
#include "core/blocks.h"
#include "sums/dense.h"

/* A depthwise convolution, 4 channels at a time, through a buffer of rows: [row][4 channels][pairs of pixels] as int16. If all rows
 * are in one band, they may be columns of the image, and heights its widths. */
typedef struct {
    int32_t batches, in_height, in_width, channels, out_height, out_width;
    int32_t stride_height, pad_top, extent;  /* input rows that one output row sees */
    int32_t row_words;
    int32_t band;                            /* output rows that are computed from one buffer */
    int32_t group_words, stream_words;
} aidge_cortexm_depthwise;

/* The part of a band that must be gathered: `count` input rows from byte `source` on, to `target`. */
typedef struct {
    uint32_t *target;
    int32_t source, count;
} aidge_cortexm_band;

static void aidge_cortexm_pads(uint32_t *target, uint32_t fill, int32_t count)
{
    for (; count > 0; count--) {
        *target++ = fill;
    }
}

/* Before the band at output row y: rows of the band before it that it sees move up. */
AIDGE_CORTEXM_UNUSED /* layers of one band keep none */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_keep_rows(const aidge_cortexm_depthwise *shape, uint32_t *words, int32_t y)
{
    const int32_t overlap = shape->extent - shape->stride_height;
    if ((y > 0) && (overlap > 0)) {
        aidge_cortexm_move_words(words, words + shape->band * shape->stride_height * shape->row_words, overlap * shape->row_words);
    }
}

/* Prepares the buffer for output rows y..y + lines - 1 and fills rows outside the image; the rows of the band before are there
 * already. Not inlined: at -O3 it has much on the stack, while the assembly saves all registers there. */
AIDGE_CORTEXM_NOINLINE aidge_cortexm_band aidge_cortexm_band_of(const aidge_cortexm_depthwise *shape, uint32_t *words,
                                                                uint32_t fill, int32_t y, int32_t lines)
{
    const int32_t top = y * shape->stride_height - shape->pad_top;
    const int32_t end = top + (lines - 1) * shape->stride_height + shape->extent;
    const int32_t overlap = shape->extent - shape->stride_height;
    const int32_t kept = (y > 0) && (overlap > 0) ? overlap : 0;
    aidge_cortexm_band band;
    int32_t first = top + kept;
    int32_t last = end < shape->in_height ? end : shape->in_height;
    if (first < 0) {
        const int32_t above = (end < 0 ? end : 0) - first;
        aidge_cortexm_pads(words + (first - top) * shape->row_words, fill, above * shape->row_words);
        first += above;
    }
    last = last > first ? last : first;
    band.target = words + (first - top) * shape->row_words;
    band.source = first * shape->in_width * shape->channels;
    band.count = last - first;
    aidge_cortexm_pads(words + (last - top) * shape->row_words, fill, (end - last) * shape->row_words);
    return band;
}
