/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/window2d.h"

/* The larger of each two halfwords: SSUB16, SEL. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_larger_halfwords(uint32_t a, uint32_t b)
{
#if AIDGE_CORTEXM_DSP
    (void)__ssub16((int16x2_t)a, (int16x2_t)b);
    return (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
#else
    const int32_t low = aidge_cortexm_low(a) > aidge_cortexm_low(b) ? aidge_cortexm_low(a) : aidge_cortexm_low(b);
    const int32_t high = aidge_cortexm_high(a) > aidge_cortexm_high(b) ? aidge_cortexm_high(a) : aidge_cortexm_high(b);
    return aidge_cortexm_pair(low, high);
#endif
}

/* Of a window the taps inside of the image; steps from tap to tap and from row to row, in values. */
typedef struct {
    int32_t rows, columns, step, row_step;
} aidge_cortexm_taps_int16;

/* The largest values of a window of at least 2 channels. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_largest_int16(int16_t *output, const int16_t *source, int32_t channels,
                                                        const aidge_cortexm_taps_int16 *taps)
{
    const int32_t columns = taps->columns;
    const int32_t step = taps->step;
    int32_t channel, row, column;
    for (channel = 0; channel < channels; channel += 2) {
        const int32_t place = channel + 2 <= channels ? channel : channels - 2; /* the last 2 overlap those before */
        const int16_t *first = source + place;
        uint32_t largest = 0x80008000u;
        for (row = taps->rows; row > 0; row--) {
            const int16_t *tap = first;
            for (column = columns; column > 0; column--) {
                largest = aidge_cortexm_larger_halfwords(largest, aidge_cortexm_load(tap));
                tap += step;
            }
            first += taps->row_step;
        }
        aidge_cortexm_store(output + place, largest);
    }
}

/* The largest value of each window, int16, channels last, at least 2 channels; taps in the pads never win. */
static void aidge_cortexm_maxpool2d_int16(const int16_t *input, int16_t *output, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_cortexm_taps_int16 taps;
    int32_t batch, y, x;
    taps.step = shape->dilation_width * channels;
    taps.row_step = shape->dilation_height * in_row;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int16_t *const from = input + (top + first_y * shape->dilation_height) * in_row;
            taps.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                taps.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                aidge_cortexm_largest_int16(output, from + (left + first_x * shape->dilation_width) * channels, channels, &taps);
                output += channels;
            }
        }
        input += shape->in_height * in_row;
    }
}
