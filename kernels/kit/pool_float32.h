/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "inline.h"
#include "window2d.h"

/*
 * Neighbouring windows of a float32 image, channels last, that see as many rows and columns of it; what assembly reads, in this
 * order. Steps in bytes: from the end of a window's first pixel to the next window, from tap to tap, and from behind the last
 * tap of a row to the next row.
 */
typedef struct {
    int32_t rows, columns, advance, channels;
    int32_t step, row_step;
    float factor;        /* of a mean */
    const float *limits; /* lowest and highest result */
} aidge_kit_seen_float32;

typedef void aidge_kit_windows_float32(float *output, const float *source, const aidge_kit_seen_float32 *seen, int32_t pixels);

/*
 * The mean or the largest value of each window within limits {lowest, highest}; taps in the pads are left out. The divisor of a
 * mean is the number of taps inside the image or, if counted_height is not 0, of taps above and left of (counted_height,
 * counted_width). `whole` computes windows that see all their taps, neighbours together, and `others` the rest, one by one.
 */
AIDGE_KIT_INLINE void aidge_kit_pool_float32(aidge_kit_windows_float32 *whole, aidge_kit_windows_float32 *others,
                                             const float *input, float *output, const float *limits, int32_t counted_height,
                                             int32_t counted_width, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_kit_seen_float32 seen;
    int32_t batch, y, x, pixels, i;
    seen.channels = channels;
    seen.advance = 4 * (shape->stride_width - 1) * channels;
    seen.step = 4 * shape->dilation_width * channels;
    seen.limits = limits;
    for (batch = shape->batches; batch > 0; batch--) {
        for (y = 0; y < shape->out_height; y++) {
            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t row = top + first_y * shape->dilation_height;
            seen.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            for (x = 0; x < shape->out_width; x += pixels) {
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const float *const source = input + row * in_row + (left + first_x * shape->dilation_width) * channels;
                pixels = aidge_kit_alike(x, left, shape);
                seen.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                seen.row_step = 4 * shape->dilation_height * in_row - seen.columns * seen.step;
                if ((seen.rows <= 0) || (seen.columns <= 0)) { /* pads alone */
                    pixels = 1;
                    for (i = 0; i < channels; i++) {
                        output[i] = limits[0];
                    }
                } else {
                    const int32_t inside = seen.rows * seen.columns;
                    const int32_t count = aidge_kit_count_of_taps(inside, top, left, counted_height, counted_width, shape);
                    seen.factor = 1.0f / (float)count;
                    if ((seen.rows == shape->kernel_height) && (seen.columns == shape->kernel_width)) {
                        whole(output, source, &seen, pixels);
                    } else {
                        others(output, source, &seen, pixels);
                    }
                }
                output += pixels * channels;
            }
        }
        input += shape->in_height * in_row;
    }
}
