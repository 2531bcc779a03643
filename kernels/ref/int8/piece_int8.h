/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/inline.h"
#include "kit/window2d.h"

/*
 * One group of output channels at one pixel, with the taps that lie inside the image: rows of runs of neighbouring bytes; steps
 * in bytes. The loops find their numbers here once, and not on the stack of each.
 */
typedef struct {
    const int8_t *weights;      /* of the group, and these of its outputs and of the input: set by the caller */
    const int32_t *bias;
    const float *numbers;
    int32_t zero_point;
    const int8_t *source;       /* the first tap inside the image */
    int32_t channels, outputs;  /* of a group */
    int32_t first_output;       /* of this group */
    int32_t complete;           /* whether no tap is outside */
    int32_t rows, runs, length;
    int32_t run_step, row_skip; /* in the input; from behind the last run of a row to the next row */
    int32_t weight_skip;        /* the same in the weights of one output channel */
    int32_t taps, first_tap;    /* of one output channel; the first one inside the image */
    int32_t pixels, second;     /* 1, or 3 pixels with whole windows in a row; the step from one to the next in the input */
    int32_t together;           /* taps of a sum of three pixels (blocks_int8.h); 0: no such pieces */
    int32_t group, top, left;   /* of the next piece */
    const int8_t *image;
} aidge_ref_piece_int8;

/* Sets the numbers that are the same at all pixels, and the first pixel. */
AIDGE_KIT_NOINLINE void aidge_ref_piece_begin(aidge_ref_piece_int8 *piece, const int8_t *image, const aidge_kit_window2d *shape,
                                              int32_t together)
{
    piece->together = shape->groups == 1 ? together : 0;
    piece->second = shape->stride_width * shape->in_channels;
    piece->channels = aidge_kit_divide(shape->in_channels, shape->groups);
    piece->outputs = aidge_kit_divide(shape->out_channels, shape->groups);
    piece->run_step = shape->dilation_width * shape->in_channels;
    piece->taps = shape->kernel_height * shape->kernel_width * piece->channels;
    piece->group = 0;
    piece->top = -shape->pad_top;
    piece->left = -shape->pad_left;
    piece->image = image;
}

/* A piece of so many pixels with whole windows, which are neighbouring bytes. */
AIDGE_KIT_INLINE void aidge_ref_piece_of_rows(aidge_ref_piece_int8 *piece, const int8_t *rows, int32_t pixels, int32_t together)
{
    piece->source = rows;
    piece->rows = 1;
    piece->runs = 1;
    piece->length = piece->taps;
    piece->first_tap = 0;
    piece->pixels = pixels;
    piece->together = together;
}

/* The next piece: groups, then columns, rows and images. Out of line: what it computes with is not needed any more. */
AIDGE_KIT_NOINLINE void aidge_ref_piece_next(aidge_ref_piece_int8 *piece, const aidge_kit_window2d *shape)
{
    const int32_t channels = piece->channels;
    const int contiguous = ((shape->groups == 1) && (shape->dilation_width == 1)) ? 1 : 0;
    const int32_t first_y = aidge_kit_first_tap(piece->top, shape->dilation_height);
    const int32_t end_y = aidge_kit_end_tap(piece->top, shape->dilation_height, shape->in_height, shape->kernel_height);
    const int32_t first_x = aidge_kit_first_tap(piece->left, shape->dilation_width);
    const int32_t last_left = (shape->out_width - 1) * shape->stride_width - shape->pad_left;
    const int32_t last_of_three = piece->left + 2 * shape->stride_width;
    const int32_t end_x = aidge_kit_end_tap(piece->left, shape->dilation_width, shape->in_width, shape->kernel_width);
    piece->source = piece->image + ((piece->top + first_y * shape->dilation_height) * shape->in_width + piece->left
                                    + first_x * shape->dilation_width) * shape->in_channels + piece->group * channels;
    piece->first_tap = (first_y * shape->kernel_width + first_x) * channels;
    piece->rows = end_x > first_x ? end_y - first_y : 0;
    piece->runs = contiguous ? 1 : end_x - first_x;
    piece->length = contiguous ? (end_x - first_x) * channels : channels;
    piece->row_skip = shape->dilation_height * shape->in_width * shape->in_channels - piece->runs * piece->run_step;
    piece->weight_skip = shape->kernel_width * channels - piece->runs * piece->length;
    piece->complete = (end_y - first_y == shape->kernel_height) && (end_x - first_x == shape->kernel_width);
    piece->pixels = (piece->together != 0) && (piece->complete != 0) && (last_of_three <= last_left)
                    && (last_of_three + (shape->kernel_width - 1) * shape->dilation_width < shape->in_width)
                  ? 3 : 1;
    piece->first_output = piece->group * piece->outputs;
    piece->group++;
    if (piece->group == shape->groups) {
        piece->group = 0;
        piece->left += piece->pixels * shape->stride_width;
        if (piece->left > last_left) {
            piece->left = -shape->pad_left;
            piece->top += shape->stride_height;
            if (piece->top == shape->out_height * shape->stride_height - shape->pad_top) {
                piece->top = -shape->pad_top;
                piece->image += shape->in_height * shape->in_width * shape->in_channels;
            }
        }
    }
}
