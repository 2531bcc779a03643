/* SPDX-License-Identifier: 0BSD */
#include "mve.h"
#include "kit/inline.h"
#include "kit/window2d.h"

/* The largest value of each window, int8, channels last; taps in the pads never win. levels: {lowest, highest}. */
static void aidge_helium_maxpool2d(const int8_t *x, int8_t *y, const int8_t *levels, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t step = shape->dilation_width * channels;
    const int32_t in_row = shape->in_width * channels;
    int32_t batch, out_y, out_x, channel, row, column;
    for (batch = 0; batch < shape->batches; batch++) {
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            const int32_t top = out_y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (out_x = 0; out_x < shape->out_width; out_x++) {
                const int32_t left = out_x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width)
                                        - first_x;
                const int8_t *source = x + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
#if AIDGE_HELIUM_ASSEMBLY
                for (channel = 0; channel < channels; channel += 16) {
                    const mve_pred16_t mask = vctp8q((uint32_t)(channels - channel));
                    int8x16_t largest = vdupq_n_s8(levels[0]);
                    for (row = 0; row < rows; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        AIDGE_KIT_ROLLED
                        for (column = columns; column > 0; column--) {
                            largest = vmaxq_m_s8(largest, largest, vldrbq_z_s8(tap, mask), mask);
                            tap += step;
                        }
                    }
                    vstrbq_p_s8(y + channel, vminq_s8(largest, vdupq_n_s8(levels[1])), mask);
                }
#else
                for (channel = 0; channel < channels; channel++) {
                    int8_t largest = levels[0];
                    for (row = 0; row < rows; row++) {
                        const int8_t *tap = source + row * shape->dilation_height * in_row + channel;
                        AIDGE_KIT_ROLLED
                        for (column = 0; column < columns; column++) {
                            largest = tap[column * step] > largest ? tap[column * step] : largest;
                        }
                    }
                    y[channel] = largest < levels[1] ? largest : levels[1];
                }
#endif
                y += channels;
            }
        }
        x += shape->in_height * in_row;
    }
}
