/* SPDX-License-Identifier: 0BSD */
#include "sums/pixels.h"

static inline void aidge_armv7m_next_pixel(int32_t *y, int32_t *x, const aidge_kit_window2d *shape)
{
    *x += 1;
    if (*x == shape->out_width) {
        *x = 0;
        *y += 1;
    }
}

/* Returns the values of a row of the window: in the image, or copied to `patch`, with `fill` outside of the image. */
static const int8_t *aidge_armv7m_row(const int8_t *image, int32_t y, int32_t left, int8_t *patch, int32_t fill,
                                      const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t is_inside = ((y >= 0) && (y < shape->in_height)) ? 1 : 0;
    const int8_t *row = image + y * shape->in_width * channels;
    int32_t tap, channel;
    if (is_inside && (shape->dilation_width == 1) && (left >= 0) && (left + shape->kernel_width <= shape->in_width)) {
        return row + left * channels;
    }
    for (tap = 0; tap < shape->kernel_width; tap++) {
        const int8_t *source = row + left * channels;
        int8_t *target = patch + tap * channels;
        if (is_inside && (left >= 0) && (left < shape->in_width)) {
            for (channel = channels; channel > 0; channel--) {
                *target++ = *source++;
            }
        } else {
            for (channel = channels; channel > 0; channel--) {
                *target++ = (int8_t)fill;
            }
        }
        left += shape->dilation_width;
    }
    return patch;
}

/* Everything that the window of an output pixel sees, row after row. */
AIDGE_KIT_NOINLINE void aidge_armv7m_patch(const int8_t *image, int32_t y, int32_t x, int8_t *patch,
                                                                   int32_t fill, const aidge_kit_window2d *shape)
{
    const int32_t run = shape->kernel_width * shape->in_channels;
    int32_t row;
    for (row = 0; row < shape->kernel_height; row++) {
        const int8_t *const source
            = aidge_armv7m_row(image, y * shape->stride_height - shape->pad_top + row * shape->dilation_height,
                               x * shape->stride_width - shape->pad_left, patch, fill, shape);
        if (source != patch) {
            (void)memcpy(patch, source, (uint32_t)run);
        }
        patch += run;
    }
}
