/* SPDX-License-Identifier: 0BSD */
#include "dynamic_data.h"
#include "windows/single_channels.h"

#if !AIDGE_HELIUM_ASSEMBLY
/*
 * As aidge_helium_channels, for bytes whose zero point and scale are in `data`, which become signed by taking `flip` away; the
 * result is float32.
 *
 * stream: 16 bytes that are not used; for each channel int32 sum of the weights, float factor and bias; the taps of all channels,
 *   with `halves` of the shape two of each channel, whose sums are the weights.
 */
static void aidge_helium_dynamic_channels(const int8_t *x, float *y, const int8_t *stream, int8_t *plane,
                                          const aidge_helium_data *data, int32_t flip, float lowest, float highest,
                                          const aidge_helium_channels_shape *shape)
{
    const int32_t channels = shape->channels, window = shape->kernel_height * shape->kernel_width;
    int32_t out_y, out_x, channel, row, column;
    for (channel = 0; channel < channels; channel++) {
        const int8_t *const numbers = stream + 16 + 12 * channel;
        const int8_t *const taps = stream + 16 + 12 * channels + (shape->halves != 0 ? 2 * window : window) * channel;
        const float factor = aidge_helium_float(numbers + 4) * data->scale;
        for (row = 0; row < shape->rows; row++) {
            for (column = 0; column < shape->columns; column++) {
                const int32_t value = x[(row * shape->in_width + column) * channels + channel];
                plane[(row + shape->top) * shape->width + column + shape->left] =
                    (int8_t)(flip != 0 ? (value & 255) - flip : value);
            }
        }
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            for (out_x = 0; out_x < shape->out_width; out_x++) {
                const int8_t *patch = plane + shape->stride * (out_y * shape->width + out_x);
                uint32_t sum = (uint32_t)aidge_helium_word(numbers) * (uint32_t)data->zero_point;
                float result;
                for (row = 0; row < shape->kernel_height; row++) {
                    for (column = 0; column < shape->kernel_width; column++) {
                        const int8_t *const tap = taps + shape->kernel_width * row + column;
                        const int32_t weight = *tap + (shape->halves != 0 ? tap[window] : 0);
                        sum += (uint32_t)(patch[row * shape->width + column] * weight);
                    }
                }
                result = (float)(int32_t)sum * factor + aidge_helium_float(numbers + 8);
                result = result < lowest ? lowest : result;
                y[(out_y * shape->out_width + out_x) * channels + channel] = result > highest ? highest : result;
            }
        }
    }
}
#endif
