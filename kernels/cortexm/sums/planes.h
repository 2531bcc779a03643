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
