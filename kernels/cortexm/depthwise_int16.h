/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/requantize.h"
#include "kit/window2d.h"

/* Of a pixel the taps inside of the image: rows and columns of them, and the steps of the data and of the weights. */
typedef struct {
    int32_t rows, columns, step, row_step, channels, row_channels;
} aidge_cortexm_patch_int16;

/* Four channels of a pixel: sums of int16 data times int8 weights, which lie tap by tap. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_depthwise_int16_four(const int16_t *from, const int8_t *weights, int32_t *sums,
                                                               const aidge_cortexm_patch_int16 *patch)
{
    const int32_t step = patch->step, channels = patch->channels;
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    int32_t rows, columns;
    for (rows = patch->rows; rows > 0; rows--) {
        for (columns = patch->columns; columns > 0; columns--) {
            const uint32_t low = aidge_cortexm_load(from);
            const uint32_t high = aidge_cortexm_load(from + 2);
            const uint32_t word = aidge_cortexm_load(weights);
            const uint32_t even = aidge_cortexm_even_bytes(word), odd = aidge_cortexm_odd_bytes(word);
            a += (int16_t)low * (int16_t)even;
            b += ((int32_t)low >> 16) * (int16_t)odd;
            c += (int16_t)high * ((int32_t)even >> 16);
            d += ((int32_t)high >> 16) * ((int32_t)odd >> 16);
            from += step;
            weights += channels;
        }
        from += patch->row_step;
        weights += patch->row_channels;
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

/* Four sums to levels. levels: lowest, highest less the zero point, and this. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_levels_int16(int16_t *output, const int32_t *sums, const float *multipliers,
                                                       const int32_t *levels)
{
    const int32_t lowest = levels[0], highest = levels[1], zero_point = levels[2];
    int32_t channel;
    for (channel = 0; channel < 4; channel++) {
        int32_t level = aidge_kit_scale(sums[channel], multipliers[channel]);
        level = level < lowest ? lowest : level;
        level = level > highest ? highest : level;
        output[channel] = (int16_t)(level + zero_point);
    }
}

/* A depthwise layer of int16 with zero point 0, 4 channels at a time; the last 4 overlap those before where they are no multiple. */
static void aidge_cortexm_depthwise_int16(const int16_t *input, int16_t *output, const int8_t *weights, const int32_t *bias,
                                          const float *multipliers, const int32_t *levels, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    aidge_cortexm_patch_int16 patch;
    int32_t batch, y, x, channel;
    patch.step = shape->dilation_width * channels;
    patch.channels = channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            patch.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x++) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t row = top + first_y * shape->dilation_height;
                const int32_t column = left + first_x * shape->dilation_width;
                const int16_t *const from = input + (row * shape->in_width + column) * channels;
                const int8_t *const first = weights + (first_y * shape->kernel_width + first_x) * channels;
                patch.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                patch.row_step = shape->dilation_height * shape->in_width * channels - patch.columns * patch.step;
                patch.row_channels = (shape->kernel_width - patch.columns) * channels;
                for (channel = 0; channel < channels; channel += 4) {
                    const int32_t place = channel + 4 <= channels ? channel : channels - 4;
                    int32_t sums[4];
                    memcpy(sums, bias + place, sizeof sums);
                    if (patch.columns > 0) {
                        aidge_cortexm_depthwise_int16_four(from + place, first + place, sums, &patch);
                    }
                    aidge_cortexm_levels_int16(output + place, sums, multipliers + place, levels);
                }
                output += channels;
            }
        }
        input += shape->in_height * shape->in_width * channels;
    }
}
