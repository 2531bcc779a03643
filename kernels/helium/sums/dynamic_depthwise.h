/* SPDX-License-Identifier: 0BSD */
#include "windows/depthwise_window.h"
#include "dynamic_data.h"

#if !AIDGE_HELIUM_ASSEMBLY
/*
 * As aidge_helium_depthwise with wide weights, for bytes whose zero point and scale are in `data`; the result is float32.
 *
 * stream: 16 bytes that are not used; for each 16 channels int32 sums of the weights, weights [rows][taps][16], then four times
 *   four float factors and four biases; all in the order of channels 0 4 8 12, 1 5 9 13, 2 6 10 14, 3 7 11 15.
 */
static void aidge_helium_dynamic_depthwise(const int8_t *const *rows, float *y, const int8_t *stream, int32_t pixels,
                                           const aidge_helium_data *data, int32_t is_unsigned, float lowest, float highest,
                                           const aidge_helium_depthwise_shape *shape)
{
    const int32_t weight_bytes = shape->rows * shape->taps * 32;
    int32_t pixel, channel;
    for (pixel = 0; pixel < pixels; pixel++) {
        for (channel = 0; channel < shape->channels; channel++) {
            const int32_t lane = channel & 15;
            const int8_t *block = stream + 16 + (channel / 16) * (weight_bytes + 64 + 128);
            const int8_t *numbers = block + 64 + weight_bytes + 32 * (lane & 3) + 4 * (lane / 4);
            const uint32_t weights = (uint32_t)aidge_helium_word(block + 16 * (lane & 3) + 4 * (lane / 4));
            float level = aidge_helium_float(numbers) * data->scale;
            uint32_t sum = weights * (uint32_t)data->zero_point;
            sum += aidge_helium_depthwise_window(rows, pixel * shape->pixel_step + channel - lane, block + 64, lane, is_unsigned, shape);
            level = (float)(int32_t)sum * level + aidge_helium_float(numbers + 16);
            level = level < lowest ? lowest : level;
            *y++ = level > highest ? highest : level;
        }
    }
}
#endif
