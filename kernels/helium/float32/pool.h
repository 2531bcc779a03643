/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "alike.h"
#include "four.h"

typedef struct {
    const float *source;
    int32_t rows, columns, row_step, column_step;
} aidge_helium_seen_float32;

#if AIDGE_HELIUM_ASSEMBLY
AIDGE_KIT_INLINE float32x4_t aidge_helium_pool_4(int is_mean, float32x4_t result, float32x4_t values)
{
    return is_mean != 0 ? vaddq_f32(result, values) : vmaxnmq_f32(result, values);
}

AIDGE_KIT_INLINE void aidge_helium_pooled_16(int is_mean, const aidge_helium_seen_float32 *seen, int32_t channel, float factor,
                                             float *y, const float *limits)
{
    float32x4_t a = vdupq_n_f32(is_mean != 0 ? 0.0f : -INFINITY), b = a, c = a, d = a;
    int32_t row, column;
    for (row = 0; row < seen->rows; row++) {
        const float *tap = seen->source + row * seen->row_step + channel;
        AIDGE_KIT_ROLLED
        for (column = seen->columns; column > 0; column--) {
            a = aidge_helium_pool_4(is_mean, a, vldrwq_f32(tap));
            b = aidge_helium_pool_4(is_mean, b, vldrwq_f32(tap + 4));
            c = aidge_helium_pool_4(is_mean, c, vldrwq_f32(tap + 8));
            d = aidge_helium_pool_4(is_mean, d, vldrwq_f32(tap + 12));
            tap += seen->column_step;
        }
    }
    if (is_mean != 0) {
        a = vmulq_n_f32(a, factor);
        b = vmulq_n_f32(b, factor);
        c = vmulq_n_f32(c, factor);
        d = vmulq_n_f32(d, factor);
    }
    vstrwq_f32(y, aidge_helium_limited_4(a, limits));
    vstrwq_f32(y + 4, aidge_helium_limited_4(b, limits));
    vstrwq_f32(y + 8, aidge_helium_limited_4(c, limits));
    vstrwq_f32(y + 12, aidge_helium_limited_4(d, limits));
}

AIDGE_KIT_INLINE void aidge_helium_pooled_4(int is_mean, const aidge_helium_seen_float32 *seen, int32_t channel, int32_t count,
                                            float factor, float *y, const float *limits)
{
    const mve_pred16_t mask = vctp32q((uint32_t)count);
    float32x4_t a = vdupq_n_f32(is_mean != 0 ? 0.0f : -INFINITY);
    int32_t row, column;
    for (row = 0; row < seen->rows; row++) {
        const float *tap = seen->source + row * seen->row_step + channel;
        AIDGE_KIT_ROLLED
        for (column = seen->columns; column > 0; column--) {
            a = aidge_helium_pool_4(is_mean, a, vldrwq_z_f32(tap, mask));
            tap += seen->column_step;
        }
    }
    a = is_mean != 0 ? vmulq_n_f32(a, factor) : a;
    vstrwq_p_f32(y, aidge_helium_limited_4(a, limits), mask);
}
#else
/* One channel of a window: its largest value, or its sum. */
AIDGE_KIT_INLINE float aidge_helium_pooled(int is_mean, const aidge_helium_seen_float32 *seen, int32_t channel)
{
    float result = is_mean != 0 ? 0.0f : -INFINITY;
    int32_t row, column;
    for (row = 0; row < seen->rows; row++) {
        const float *tap = seen->source + row * seen->row_step + channel;
        AIDGE_KIT_ROLLED
        for (column = seen->columns; column > 0; column--) {
            result = is_mean != 0 ? result + *tap : *tap > result ? *tap : result;
            tap += seen->column_step;
        }
    }
    return result;
}
#endif

/* Neighbouring pixels whose whole windows lie inside. */
typedef void aidge_helium_windows_float32(const float *x, float *y, int32_t pixels, const aidge_kit_window2d *shape,
                                          const float *limits);

#if !AIDGE_HELIUM_ASSEMBLY
AIDGE_KIT_INLINE void aidge_helium_windows_plain_float32(int is_mean, const float *x, float *y, int32_t pixels,
                                                         const aidge_kit_window2d *shape, const float *limits)
{
    const int32_t taps = shape->kernel_height * shape->kernel_width;
    const float factor = is_mean != 0 ? 1.0f / (float)taps : 1.0f;
    aidge_helium_seen_float32 seen;
    int32_t pixel, channel;
    seen.row_step = shape->dilation_height * shape->in_width * shape->in_channels;
    seen.column_step = shape->dilation_width * shape->in_channels;
    seen.rows = shape->kernel_height;
    seen.columns = shape->kernel_width;
    seen.source = x;
    for (pixel = 0; pixel < pixels; pixel++) {
        for (channel = 0; channel < shape->in_channels; channel++) {
            *y++ = aidge_helium_limited_float32(aidge_helium_pooled(is_mean, &seen, channel) * factor, limits);
        }
        seen.source += shape->stride_width * shape->in_channels;
    }
}
#endif

/* One pixel. */
AIDGE_KIT_INLINE void aidge_helium_pool_pixel_float32(int is_mean, const aidge_helium_seen_float32 *seen, float factor,
                                                      int32_t channels, float *output, const float *limits)
{
    int32_t channel = 0;
#if AIDGE_HELIUM_ASSEMBLY
    for (; channel + 16 <= channels; channel += 16) {
        aidge_helium_pooled_16(is_mean, seen, channel, factor, output + channel, limits);
    }
    for (; channel < channels; channel += 4) {
        aidge_helium_pooled_4(is_mean, seen, channel, channels - channel, factor, output + channel, limits);
    }
#else
    for (; channel < channels; channel++) {
        output[channel] = aidge_helium_limited_float32(aidge_helium_pooled(is_mean, seen, channel) * factor, limits);
    }
#endif
}

/*
 * The mean (is_mean) or the largest value of each window, float32, channels last; taps in the pads are left out. The divisor of a
 * mean is the number of taps inside the image or, if counted_height is not 0, of those above and left of (counted_height,
 * counted_width): with pads. `windows` computes what lies inside, where it is not NULL.
 */
AIDGE_KIT_INLINE void aidge_helium_pool_float32(int is_mean, aidge_helium_windows_float32 *windows, const float *input,
                                                float *output, const float *limits, int32_t counted_height,
                                                int32_t counted_width, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_helium_seen_float32 seen;
    int32_t batch, y, x, pixels;
    seen.row_step = shape->dilation_height * in_row;
    seen.column_step = shape->dilation_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            seen.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x += pixels) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                seen.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                seen.source = input + (top + first_y * shape->dilation_height) * in_row
                              + (left + first_x * shape->dilation_width) * channels;
                pixels = 1;
                if ((windows != NULL) && (seen.rows == shape->kernel_height) && (seen.columns == shape->kernel_width)) {
                    pixels = aidge_helium_alike(x, left, shape);
                    windows(seen.source, output, pixels, shape, limits);
                } else {
                    float factor = 1.0f;
                    if (is_mean != 0) {
                        const int32_t taps = seen.rows * seen.columns;
                        const int32_t count = aidge_kit_count_of_taps(taps, top, left, counted_height, counted_width, shape);
                        factor /= (float)count;
                    }
                    aidge_helium_pool_pixel_float32(is_mean, &seen, factor, channels, output, limits);
                }
                output += pixels * channels;
            }
        }
        input += shape->in_height * in_row;
    }
}
