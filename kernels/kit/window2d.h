/* SPDX-License-Identifier: 0BSD */
#include "wide.h"

/*
 * A window that slides over an image with channels last: tensors [batches][height][width][channels].
 * A signal over one axis is an image of height 1. Pads are not stored: taps outside the image are left out.
 */
typedef struct {
    int32_t batches;
    int32_t in_height, in_width, in_channels;
    int32_t out_height, out_width, out_channels;
    int32_t kernel_height, kernel_width;
    int32_t stride_height, stride_width;
    int32_t dilation_height, dilation_width;
    int32_t pad_top, pad_left;
    int32_t groups;
} aidge_kit_window2d;

/* The first tap inside the image, if tap 0 is at position start (maybe negative). */
static inline int32_t aidge_kit_first_tap(int32_t start, int32_t dilation)
{
    return start >= 0 ? 0 : dilation == 1 ? -start : aidge_kit_divide(-start + dilation - 1, dilation);
}

/* One past the last of `taps` taps inside an image of this size; it may be below the first tap. */
static inline int32_t aidge_kit_end_tap(int32_t start, int32_t dilation, int32_t size, int32_t taps)
{
    int32_t room = size - start;
    room = dilation == 1 ? room : room <= 0 ? 0 : aidge_kit_divide(room + dilation - 1, dilation);
    return room < taps ? room : taps;
}

/*
 * How many taps of the window at (top, left) a mean counts: the taps inside the image, or if counted_height is not 0, the taps
 * above and left of (counted_height, counted_width).
 */
static inline int32_t aidge_kit_count_of_taps(int32_t inside, int32_t top, int32_t left, int32_t counted_height,
                                              int32_t counted_width, const aidge_kit_window2d *shape)
{
    return counted_height == 0 ? inside : aidge_kit_end_tap(top, shape->dilation_height, counted_height, shape->kernel_height)
                                          * aidge_kit_end_tap(left, shape->dilation_width, counted_width, shape->kernel_width);
}

/* How many pixels from `column` on see as many taps as the pixel of `column`, with a window that begins at `left`; 1 if it
 * sees pads. */
static inline int32_t aidge_kit_alike(int32_t column, int32_t left, const aidge_kit_window2d *shape)
{
    const int32_t room = shape->in_width - (shape->kernel_width - 1) * shape->dilation_width - 1 - left;
    const int32_t inner = room < 0 ? 1 : aidge_kit_divide(room, shape->stride_width) + 1;
    return left < 0 ? 1 : inner < shape->out_width - column ? inner : shape->out_width - column;
}

/* Which of the counts it is; the last one if none before it. */
static inline int32_t aidge_kit_kind_of_count(int32_t count, const int32_t *counts, int32_t kinds)
{
    int32_t kind = 0;
    while ((kind + 1 < kinds) && (counts[kind] != count)) {
        kind++;
    }
    return kind;
}
