/* SPDX-License-Identifier: 0BSD */
#include "core/lanes.h"
#include "kit/window2d.h"

/* The taps of one window that lie in the image: rows x columns of them, and their distances in bytes. */
typedef struct {
    int32_t rows, columns, row_step, column_step;
} aidge_cortexm_taps2d;

/* A layer: its windows, and which of them lie inside the image. */
typedef struct {
    aidge_kit_window2d shape;
    int32_t first_y, end_y, first_x, end_x;
} aidge_cortexm_maxima;

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

/* The same of 1 channel. */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_largest_of_1(const int8_t *source, const int8_t *levels, const aidge_cortexm_taps2d *taps)
{
    int32_t largest = levels[0];
    int32_t row, column;
    for (row = taps->rows; row > 0; row--) {
        const int8_t *tap = source;
        for (column = taps->columns; column > 0; column--) {
            largest = *tap > largest ? *tap : largest;
            tap += taps->column_step;
        }
        source += taps->row_step;
    }
    return (int8_t)(largest < levels[1] ? largest : levels[1]);
}

/* The first tap of a window inside the image. */
AIDGE_CORTEXM_INLINE const int8_t *aidge_cortexm_first_of_window(const int8_t *input, const aidge_kit_window2d *shape, int32_t y,
                                                                 int32_t x)
{
    const int32_t top = y * shape->stride_height - shape->pad_top;
    return input + (top * shape->in_width + x * shape->stride_width - shape->pad_left) * shape->in_channels;
}

/* The largest values of a window, of all channels. levels: {lowest, highest}. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_largest_of_window(const int8_t *source, int8_t *output, const int8_t *levels, int32_t channels,
                                                          const aidge_cortexm_taps2d *taps)
{
    const uint32_t low = aidge_cortexm_four_bytes(levels[0]);
    const uint32_t high = aidge_cortexm_four_bytes(levels[1]);
    int32_t channel = 0;
    for (; channel + 16 <= channels; channel += 16) {
        aidge_cortexm_largest_of_16(source + channel, output + channel, low, high, taps);
    }
    for (; (channel < channels) && (channels >= 4); channel += 4) { /* the last 4 overlap those before */
        const int32_t place = channel + 4 <= channels ? channel : channels - 4;
        aidge_cortexm_largest_of_4(source + place, output + place, low, high, taps);
    }
    for (; channel < channels; channel++) {
        output[channel] = aidge_cortexm_largest_of_1(source + channel, levels, taps);
    }
}

#if !AIDGE_CORTEXM_ASSEMBLY
/* Maxima of the whole range of a row of windows inside the image, `step` bytes apart: the C version of the functions of this name. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_largest_of_row(const int8_t *source, int8_t *output, int32_t pixels, int32_t step,
                                                         int32_t channels, const aidge_cortexm_taps2d *taps)
{
    static const int8_t levels[2] = {-128, 127};
    for (; pixels > 0; pixels--) {
        aidge_cortexm_largest_of_window(source, output, levels, channels, taps);
        source += step;
        output += channels;
    }
}
#endif

/* The taps of a window that lie in the image. Returns the first one. */
AIDGE_CORTEXM_INLINE const int8_t *aidge_cortexm_taps_of(aidge_cortexm_taps2d *taps, const int8_t *input, const aidge_kit_window2d *shape,
                                                         int32_t y, int32_t x)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    const int32_t top = y * shape->stride_height - shape->pad_top;
    const int32_t left = x * shape->stride_width - shape->pad_left;
    const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
    const int8_t *const first = input + (top + first_y * shape->dilation_height) * in_row
                                + (left + first_x * shape->dilation_width) * channels;
    taps->row_step = shape->dilation_height * in_row;
    taps->column_step = shape->dilation_width * channels;
    taps->rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
    taps->columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
    return first;
}

/* The largest values of a window, of all channels; taps in the pads never win. levels: {lowest, highest}. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_maximum(const int8_t *input, int8_t *output, const int8_t *levels,
                                                  const aidge_kit_window2d *shape, int32_t y, int32_t x)
{
    aidge_cortexm_taps2d taps;
    const int8_t *const source = aidge_cortexm_taps_of(&taps, input, shape, y, x);
    aidge_cortexm_largest_of_window(source, output, levels, shape->in_channels, &taps);
}

/* The largest value of each window, int8, channels last; taps in the pads never win. levels: {lowest, highest}. */
AIDGE_CORTEXM_UNUSED /* where functions of their own know of windows inside the image */
static void aidge_cortexm_maxpool2d_int8(const int8_t *input, int8_t *output, const int8_t *levels,
                                         const aidge_cortexm_maxima *layer)
{
    const aidge_kit_window2d *const shape = &layer->shape;
    int32_t batch, y, x;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            for (x = 0; x < shape->out_width; x++) {
                aidge_cortexm_maximum(input, output, levels, shape, y, x);
                output += shape->in_channels;
            }
        }
        input += shape->in_height * shape->in_width * shape->in_channels;
    }
}
