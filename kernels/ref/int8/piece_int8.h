/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/inline.h"
#include "kit/window2d.h"

/*
 * One group of output channels at one pixel, with the taps that lie inside the image: rows of runs of neighbouring bytes; steps
 * in bytes. What the loops need lies here once, and not on the stack of each.
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
    int32_t group, top, left;   /* of the next piece */
    const int8_t *image;
} aidge_ref_piece_int8;

/* What is the same at all pixels, and the first one. */
AIDGE_KIT_NOINLINE void aidge_ref_piece_begin(aidge_ref_piece_int8 *piece, const int8_t *image, const aidge_kit_window2d *shape)
{
    piece->channels = aidge_kit_divide(shape->in_channels, shape->groups);
    piece->outputs = aidge_kit_divide(shape->out_channels, shape->groups);
    piece->run_step = shape->dilation_width * shape->in_channels;
    piece->taps = shape->kernel_height * shape->kernel_width * piece->channels;
    piece->group = 0;
    piece->top = -shape->pad_top;
    piece->left = -shape->pad_left;
    piece->image = image;
}

/* The next piece: groups, then columns, rows and images. Out of line: what it computes with is not needed any more. */
AIDGE_KIT_NOINLINE void aidge_ref_piece_next(aidge_ref_piece_int8 *piece, const aidge_kit_window2d *shape)
{
    const int32_t channels = piece->channels;
    const int contiguous = ((shape->groups == 1) && (shape->dilation_width == 1)) ? 1 : 0;
    const int32_t first_y = aidge_kit_first_tap(piece->top, shape->dilation_height);
    const int32_t end_y = aidge_kit_end_tap(piece->top, shape->dilation_height, shape->in_height, shape->kernel_height);
    const int32_t first_x = aidge_kit_first_tap(piece->left, shape->dilation_width);
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
    piece->first_output = piece->group * piece->outputs;
    piece->group++;
    if (piece->group == shape->groups) {
        piece->group = 0;
        piece->left += shape->stride_width;
        if (piece->left == shape->out_width * shape->stride_width - shape->pad_left) {
            piece->left = -shape->pad_left;
            piece->top += shape->stride_height;
            if (piece->top == shape->out_height * shape->stride_height - shape->pad_top) {
                piece->top = -shape->pad_top;
                piece->image += shape->in_height * shape->in_width * shape->in_channels;
            }
        }
    }
}
