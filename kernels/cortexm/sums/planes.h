/* SPDX-License-Identifier: 0BSD */
#include "window.h"

/* The part of a row of the buffer that lies inside the image. */
typedef struct {
    const int8_t *source;
    uint32_t *target;
    int32_t pixels;  /* 0: the row lies outside */
} aidge_cortexm_piece;

/* The part of row `row` that has to be unpacked; a row outside the image is filled. */
static aidge_cortexm_piece aidge_cortexm_piece_of(const aidge_cortexm_rows *rows, const aidge_cortexm_window *shape, int32_t row)
{
    const int32_t begin = rows->first < 0 ? -rows->first : 0;
    const int32_t room = shape->in_width - rows->first;
    const int32_t y = rows->top + row;
    aidge_cortexm_piece piece;
    piece.target = rows->words + row * shape->row_words;
    piece.source = rows->input;
    piece.pixels = 0;
    if ((y < 0) || (y >= shape->in_height)) {
        aidge_cortexm_fill(piece.target, rows->fill, shape->row_words);
    } else {
        piece.source += (y * shape->in_width + rows->first + begin) * shape->channels;
        piece.target += begin;
        piece.pixels = (room < shape->span ? room : shape->span) - begin;
    }
    return piece;
}

#if !AIDGE_CORTEXM_FPU
/* Pixels, `gap` bytes apart, as int16 pairs of channels (c, c + 2), (c + 1, c + 3), a plane of `span` words per pair: the C
 * version of the generated functions of this name. */
AIDGE_CORTEXM_C void aidge_cortexm_unpack_pixels(const int8_t *source, uint32_t *target, int32_t pixels, int32_t channels,
                                                 int32_t gap, int32_t span)
{
    for (; pixels > 0; pixels--) {
        uint32_t *place = target++;
        int32_t left;
        for (left = channels; left > 0; left -= 4) {
            const uint32_t word = aidge_cortexm_load(source);
            source += 4;
            place[0] = aidge_cortexm_even_bytes(word);
            place[span] = aidge_cortexm_odd_bytes(word);
            place += 2 * span;
        }
        source += gap;
    }
}

/* The negated sums of `windows` neighbouring windows as `sums` planes behind the others. */
AIDGE_CORTEXM_C void aidge_cortexm_window_sums(uint32_t *words, int32_t windows, const aidge_cortexm_taps *taps, int32_t sums)
{
    int32_t window, plane, tap;
    for (window = 0; window < windows; window++) {
        const uint32_t *values = words + window;
        uint32_t total = 0;
        for (plane = taps->planes; plane > 0; plane--) {
            for (tap = 0; tap < taps->count; tap++) {
                total = aidge_cortexm_dot(values[taps->taps[tap]], (uint32_t)AIDGE_CORTEXM_MINUS_ONES, total);
            }
            values += taps->step;
        }
        aidge_cortexm_put_sum(words + taps->planes * taps->step + window, taps->step, sums, (int32_t)total);
    }
}
#endif
