/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/requantize.h"
#include "kit/window2d.h"

/* The taps of one pixel as words of two, every `step` words; `fill` outside of the image, 0 behind an odd number. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_column_int16(uint32_t *column, int32_t step, const int16_t *input, int32_t y, int32_t x,
                                                       int32_t fill, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t left = x * shape->stride_width - shape->pad_left;
    const uint32_t fills = aidge_cortexm_pair(fill, fill);
    int32_t waits = 0, kept = 0;
    int32_t tap_y, tap_x, c;
    for (tap_y = 0; tap_y < shape->kernel_height; tap_y++) {
        const int32_t row = y * shape->stride_height - shape->pad_top + tap_y * shape->dilation_height;
        for (tap_x = 0; tap_x < shape->kernel_width; tap_x++) {
            const int32_t at = left + tap_x * shape->dilation_width;
            const int32_t inside = ((row >= 0) && (row < shape->in_height) && (at >= 0) && (at < shape->in_width)) ? 1 : 0;
            const int16_t *from = input + (inside != 0 ? (row * shape->in_width + at) * channels : 0);
            c = channels;
            if (waits != 0) {
                *column = aidge_cortexm_pair(kept, inside != 0 ? *from : fill);
                column += step;
                from++;
                c--;
            }
            for (; c >= 2; c -= 2) {
                *column = inside != 0 ? aidge_cortexm_load(from) : fills;
                column += step;
                from += 2;
            }
            waits = c;
            if (c != 0) {
                kept = inside != 0 ? *from : fill;
            }
        }
    }
    if (waits != 0) {
        *column = aidge_cortexm_pair(kept, 0);
    }
}

/* The C version of sums_int16.py. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_sums_int16_c(const uint32_t *column, const int32_t *stream, int16_t *first,
    int16_t *second, const int32_t *end, int32_t pairs, int32_t pixels, int32_t apart, int32_t low, int32_t high,
    int32_t zero_point)
{
    for (; stream != end; stream += 8 + 2 * pairs) {
        int32_t channel, pixel, pair;
        for (channel = 0; channel < 4; channel++) {
            float multiplier;
            (void)memcpy(&multiplier, stream + 4 + 2 * pairs + channel, sizeof multiplier);
            for (pixel = 0; pixel < pixels; pixel++) {
                uint32_t sum = (uint32_t)stream[channel];
                int32_t level;
                for (pair = 0; pair < pairs; pair++) {
                    const uint32_t word = (uint32_t)stream[4 + 2 * pair + channel / 2];
                    const uint32_t weights = channel % 2 != 0 ? aidge_cortexm_odd_bytes(word) : aidge_cortexm_even_bytes(word);
                    const uint32_t *const at = apart != 0 ? column + pair + apart * pixel : column + pixels * pair + pixel;
                    sum = aidge_cortexm_dot(weights, aidge_cortexm_load(at), sum);
                }
                level = aidge_kit_scale((int32_t)sum, multiplier);
                level = level < low - zero_point ? low - zero_point : level;
                level = level > high - zero_point ? high - zero_point : level;
                (pixel != 0 ? second : first)[channel] = (int16_t)(level + zero_point);
            }
        }
        first += 4;
        second += 4;
    }
}
