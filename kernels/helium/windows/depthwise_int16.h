/* SPDX-License-Identifier: 0BSD */
#include "kit/window2d.h"
#include "core/helium.h"

/*
 * The taps of a pixel that are inside the image: the place of the first tap's weights in a group, the number of groups of 8
 * channels, rows and columns of taps, the steps to the next tap and the next row in the data, and to the next row in the
 * weights, in bytes.
 */
typedef struct {
    int32_t weights, groups, rows, columns, step, row_step, weights_row_step;
} aidge_helium_patch_int16;

/* Fills in the taps that the pixel at (y, x) sees; returns the place of the first value. */
AIDGE_KIT_NOINLINE int32_t aidge_helium_see_int16(aidge_helium_patch_int16 *patch, int32_t y, int32_t x, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t top = y * shape->stride_height - shape->pad_top;
    const int32_t left = x * shape->stride_width - shape->pad_left;
    const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
    const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
    const int32_t columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
    patch->groups = channels / 8;
    patch->step = 2 * shape->dilation_width * channels;
    if ((rows <= 0) || (columns <= 0)) { /* pads alone */
        patch->weights = patch->rows = patch->columns = patch->row_step = patch->weights_row_step = 0;
        return 0;
    }
    patch->weights = 64 + 8 * (first_y * shape->kernel_width + first_x);
    patch->rows = rows;
    patch->columns = columns;
    patch->row_step = 2 * shape->dilation_height * shape->in_width * channels - columns * patch->step;
    patch->weights_row_step = 8 * (shape->kernel_width - columns);
    return ((top + first_y * shape->dilation_height) * shape->in_width + left + first_x * shape->dilation_width) * channels;
}
