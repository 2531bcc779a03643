/* SPDX-License-Identifier: 0BSD */
#include "strip.h"
#include "kit/window2d.h"

/* Fills in the fields that all strips of a convolution have in common. */
AIDGE_KIT_NOINLINE void aidge_helium_strips_float32(aidge_helium_strip_float32 *strip, const float *limits, int32_t gap,
                                                    const aidge_kit_window2d *shape)
{
    strip->pixel_step = 4 * shape->stride_width * shape->in_channels;
    strip->output_step = 4 * (shape->out_channels + gap);
    strip->channels = aidge_kit_divide(shape->out_channels, shape->groups);
    strip->limits = limits;
}

/* The next strip, from `column` of output row `number`; returns its pixels: a multiple of `together`, or fewer. */
AIDGE_KIT_NOINLINE int32_t aidge_helium_next_strip_float32(aidge_helium_strip_float32 *strip, const float *x, int32_t number,
                                                           int32_t column, int32_t together, int32_t is_apart,
                                                           const aidge_kit_window2d *shape)
{
    const int32_t values = aidge_kit_divide(shape->in_channels, shape->groups);
    const int32_t top = number * shape->stride_height - shape->pad_top;
    const int32_t left = column * shape->stride_width - shape->pad_left;
    const int32_t first_row = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t end_row = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height);
    const int32_t first = aidge_kit_first_tap(left, shape->dilation_width);
    const int32_t end = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
    const int32_t row_values = shape->kernel_width * values;
    const int32_t seen = (end > first) && (end_row > first_row) ? (end - first) * values : 0;
    const int32_t run = is_apart && (seen > 0) ? values : seen;
    const int32_t pixels = aidge_kit_alike(column, left, shape);
    strip->quads = run / 4;
    strip->singles = run & 3;
    strip->taps = is_apart && (seen > 0) ? end - first : 1;
    strip->tap_step = is_apart ? 4 * (shape->dilation_width * shape->in_channels - run) : 0;
    strip->row_step = 4 * (shape->dilation_height * shape->in_width * shape->in_channels - strip->taps * run)
                      - strip->taps * strip->tap_step;
    if (seen == 0) { /* pads alone: a row without values */
        strip->rows = 1;
        strip->first = shape->kernel_height * row_values;
        strip->skipped = strip->last = 0;
        strip->source = x;
    } else {
        const int32_t row = top + first_row * shape->dilation_height;
        strip->rows = end_row - first_row;
        strip->first = first_row * row_values + first * values;
        strip->skipped = row_values - seen;
        strip->last = (shape->kernel_height - end_row) * row_values - first * values + strip->skipped;
        strip->source = x + (row * shape->in_width + left + first * shape->dilation_width) * shape->in_channels;
    }
    strip->blocks = pixels < together ? 1 : aidge_kit_divide(pixels, together);
    return pixels < together ? pixels : together * strip->blocks;
}
