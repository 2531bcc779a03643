/* SPDX-License-Identifier: 0BSD */
#include "core/blocks.h"
#include "pairs.h"

/* A convolution that reads its input through a buffer of a few rows, whose pads hold the input's zero point. */
typedef struct {
    int32_t batches, in_height, in_width, channels, out_height, out_width, out_channels;
    int32_t stride_height, stride_width, pad_top, pad_left;
    int32_t rows, row_words, span;  /* of the buffer: rows, words of a row, pixels of a row */
    int32_t tile;                   /* output columns that are computed from one buffer */
    int32_t lines;                  /* output rows that are computed together: 1 or 2 */
    int32_t second_input;           /* bytes in the buffer from the first pixel of a pair to the second */
    int32_t input_step;             /* bytes in the buffer from pair to pair */
    int32_t advanced;               /* bytes of the output that the groups of channels advance by themselves */
    int32_t stream_bytes;
} aidge_cortexm_window;

/* The buffer: `first` is the input column of its first pixel; `top` the input row of its first row, `loaded` rows are right. */
typedef struct {
    const int8_t *input;
    uint32_t *words;
    uint32_t fill;
    int32_t first, top, loaded;
} aidge_cortexm_rows;

/* The pairs of a tile that begins at output column x: side by side, or one below the other if two lines go together. */
static aidge_cortexm_run aidge_cortexm_run_of(const aidge_cortexm_window *shape, int32_t x)
{
    const int32_t left = shape->out_width - x;
    const int32_t width = left < shape->tile ? left : shape->tile;
    aidge_cortexm_run run;
    run.second_input = shape->second_input;
    run.input_step = shape->input_step;
    run.stream_bytes = shape->stream_bytes;
    if (shape->lines > 1) {
        run.pairs = width;
        run.second_output = shape->out_width * shape->out_channels;
        run.output_step = shape->out_channels - shape->advanced;
        run.back_input = 0;
        run.back_output = 0;
    } else {
        const int32_t odd = (width > 1) ? width & 1 : 0;
        run.pairs = (width + 1) / 2;
        run.second_output = width > 1 ? shape->out_channels : 0;
        run.second_input = width > 1 ? shape->second_input : 0;
        run.output_step = 2 * shape->out_channels - shape->advanced;
        run.back_input = odd * shape->second_input;
        run.back_output = odd * shape->out_channels;
    }
    return run;
}

static void aidge_cortexm_fill(uint32_t *words, uint32_t value, int32_t count)
{
    for (; count > 0; count--) {
        *words++ = value;
    }
}

/* An empty buffer for the tile at output column x. */
static aidge_cortexm_rows aidge_cortexm_rows_of(const int8_t *input, void *scratch, uint32_t fill,
                                                const aidge_cortexm_window *shape, int32_t x)
{
    aidge_cortexm_rows rows;
    rows.input = input;
    rows.words = (uint32_t *)scratch;
    rows.fill = fill;
    rows.first = x * shape->stride_width - shape->pad_left;
    rows.top = 0;
    rows.loaded = 0;
    aidge_cortexm_fill(rows.words, fill, shape->rows * shape->row_words);
    return rows;
}

/* Make `top` the first row of the buffer: rows that it already holds move up. Returns how many of them are right. */
static int32_t aidge_cortexm_move_rows(aidge_cortexm_rows *rows, const aidge_cortexm_window *shape, int32_t top)
{
    const int32_t gone = top - rows->top;
    const int32_t kept = rows->loaded > gone ? rows->loaded - gone : 0;
    if (gone > 0) {
        aidge_cortexm_move_words(rows->words, rows->words + gone * shape->row_words, kept * shape->row_words);
    }
    rows->top = top;
    rows->loaded = shape->rows;
    return kept;
}
