/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/inline.h"
#include "kit/window2d.h"

#define AIDGE_REF_TAPS 4 /* of a window that are compared at once */

/* The largest of four values at each place; the output may be one of them. From the end: one number
 * is the place and what is left. */
AIDGE_KIT_NOINLINE void aidge_ref_largest_int8(int8_t *output, const int8_t *const *taps, int32_t count)
{
    const int8_t *const first = taps[0];
    const int8_t *const second = taps[1];
    const int8_t *const third = taps[2];
    const int8_t *const fourth = taps[3];
    while (--count >= 0) {
        int32_t largest = first[count];
        int32_t value = second[count];
        largest = value > largest ? value : largest;
        value = third[count];
        largest = value > largest ? value : largest;
        value = fourth[count];
        output[count] = (int8_t)(value > largest ? value : largest);
    }
}

/* The largest values of one window; what is compared so far stands in the output. */
static void aidge_ref_largest_of_window_int8(const int8_t *source, int8_t *output, int32_t rows, int32_t columns,
                                             int32_t row_step, int32_t column_step, int32_t channels)
{
    const int8_t *taps[AIDGE_REF_TAPS];
    int32_t column, filled = 0;
    for (; rows > 0; rows--) {
        const int8_t *tap = source;
        for (column = columns; column > 0; column--) {
            if (filled == AIDGE_REF_TAPS) {
                aidge_ref_largest_int8(output, taps, channels);
                taps[0] = output;
                filled = 1;
            }
            taps[filled++] = tap;
            tap += column_step;
        }
        source += row_step;
    }
    for (; filled < AIDGE_REF_TAPS; filled++) {
        taps[filled] = taps[0];
    }
    aidge_ref_largest_int8(output, taps, channels);
}

/* The largest value of each window, int8, channels last; taps in the pads never win. levels: {lowest, highest}. */
static void aidge_ref_maxpool2d_int8(const int8_t *input, int8_t *output, const int8_t *levels, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    const int32_t is_limited = ((levels[0] > -128) || (levels[1] < 127)) ? 1 : 0;
    int32_t batch, y, x, channel;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t end_x = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
                const int8_t *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                if ((rows > 0) && (end_x > first_x)) {
                    aidge_ref_largest_of_window_int8(source, output, rows, end_x - first_x, shape->dilation_height * in_row,
                                                     shape->dilation_width * channels, channels);
                } else {
                    (void)memset(output, levels[0], (uint32_t)channels);
                }
                for (channel = 0; (is_limited != 0) && (channel < channels); channel++) {
                    const int8_t value = output[channel] < levels[0] ? levels[0] : output[channel];
                    output[channel] = value < levels[1] ? value : levels[1];
                }
                output += channels;
            }
        }
        input += shape->in_height * in_row;
    }
}
