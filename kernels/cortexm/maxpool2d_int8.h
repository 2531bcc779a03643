/* SPDX-License-Identifier: 0BSD */
#include "lanes.h"
#include "kit/window2d.h"

/* The taps of one window that lie in the image: rows x columns of them, and their distances in bytes. */
typedef struct {
    int32_t rows, columns, row_step, column_step;
} aidge_cortexm_taps2d;

/* The largest of the window's values of 16 channels. */
static void aidge_cortexm_largest_of_16(const int8_t *source, int8_t *output, uint32_t low, uint32_t high,
                                        const aidge_cortexm_taps2d *taps)
{
    const int32_t step = taps->column_step;
    uint32_t a = low;
    uint32_t b = low;
    uint32_t c = low;
    uint32_t d = low;
    int32_t row, column;
    for (row = taps->rows; row > 0; row--) {
        const int8_t *tap = source;
        for (column = taps->columns; column > 0; column--) {
            a = aidge_cortexm_larger_bytes(a, aidge_cortexm_load(tap));
            b = aidge_cortexm_larger_bytes(b, aidge_cortexm_load(tap + 4));
            c = aidge_cortexm_larger_bytes(c, aidge_cortexm_load(tap + 8));
            d = aidge_cortexm_larger_bytes(d, aidge_cortexm_load(tap + 12));
            tap += step;
        }
        source += taps->row_step;
    }
    aidge_cortexm_store(output, aidge_cortexm_smaller_bytes(a, high));
    aidge_cortexm_store(output + 4, aidge_cortexm_smaller_bytes(b, high));
    aidge_cortexm_store(output + 8, aidge_cortexm_smaller_bytes(c, high));
    aidge_cortexm_store(output + 12, aidge_cortexm_smaller_bytes(d, high));
}

/* The same of 4 channels. */
static void aidge_cortexm_largest_of_4(const int8_t *source, int8_t *output, uint32_t low, uint32_t high,
                                        const aidge_cortexm_taps2d *taps)
{
    uint32_t a = low;
    int32_t row, column;
    for (row = taps->rows; row > 0; row--) {
        const int8_t *tap = source;
        for (column = taps->columns; column > 0; column--) {
            a = aidge_cortexm_larger_bytes(a, aidge_cortexm_load(tap));
            tap += taps->column_step;
        }
        source += taps->row_step;
    }
    aidge_cortexm_store(output, aidge_cortexm_smaller_bytes(a, high));
}

/* The largest value of each window, int8, channels last, at least 4; taps in the pads never win. levels: {lowest, highest}. */
static void aidge_cortexm_maxpool2d_int8(const int8_t *input, int8_t *output, const int8_t *levels,
                                         const aidge_kit_window2d *shape)
{
    const uint32_t low = aidge_cortexm_four_bytes(levels[0]);
    const uint32_t high = aidge_cortexm_four_bytes(levels[1]);
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_cortexm_taps2d taps;
    int32_t batch, y, x, channel;
    taps.row_step = shape->dilation_height * in_row;
    taps.column_step = shape->dilation_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            taps.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int8_t *source = input + (top + first_y * shape->dilation_height) * in_row
                                       + (left + first_x * shape->dilation_width) * channels;
                taps.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                for (channel = 0; channel + 16 <= channels; channel += 16) {
                    aidge_cortexm_largest_of_16(source + channel, output + channel, low, high, &taps);
                }
                for (; channel < channels; channel += 4) { /* the last 4 overlap those before */
                    const int32_t place = channel + 4 <= channels ? channel : channels - 4;
                    aidge_cortexm_largest_of_4(source + place, output + place, low, high, &taps);
                }
                output += channels;
            }
        }
        input += shape->in_height * in_row;
    }
}
