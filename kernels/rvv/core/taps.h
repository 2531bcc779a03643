/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/window2d.h"

/* The taps of a window that see the image: where the first one is, rows and columns, bytes from a column to the next, and from a
 * row to the next; how many taps a mean counts; which tap of the window is the first one. */
typedef struct {
    const int8_t *from;
    int32_t rows, columns, column_step, row_step, count, first;
} aidge_rvv_taps;

AIDGE_KIT_NOINLINE aidge_rvv_taps aidge_rvv_taps_of(const int8_t *input, int32_t top, int32_t left, int32_t counted_height,
                                                    int32_t counted_width, const aidge_kit_window2d *shape)
{
    const int32_t row = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t column = aidge_kit_first_tap(left, shape->dilation_width);
    aidge_rvv_taps taps;
    taps.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - row;
    taps.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - column;
    taps.column_step = shape->dilation_width * shape->in_channels;
    taps.row_step = shape->dilation_height * shape->in_width * shape->in_channels;
    taps.from = input + ((top + row * shape->dilation_height) * shape->in_width + left + column * shape->dilation_width)
                        * shape->in_channels;
    taps.count = aidge_kit_count_of_taps(taps.rows * taps.columns, top, left, counted_height, counted_width, shape);
    taps.first = row * shape->kernel_width + column;
    return taps;
}
