/* SPDX-License-Identifier: 0BSD */
#include "core/bytes.h"
#include "kit/window2d.h"

/* Channels of the output; rows of a window; loops in a row; bytes from a pixel's window to the next, and from a tap of a row to the
 * next; the texts read these. Bytes of a row over which the text moves its pointers; bytes from a row to the next, 0 if rows of
 * windows are rows of the image; whether windows may be read where they are. */
typedef struct {
    int32_t channels, rows, turns, step, tap_bytes, run_bytes, row_bytes, may_stay;
} aidge_rvv_sizes;

/* The bytes of the rows that the windows of neighbouring pixels see: where they are, and how far it is from the end of a
 * row of the window to the next one. */
typedef struct {
    const int8_t *bytes;
    int32_t row_step;
} aidge_rvv_strip;

/* A copy of `width` pixels from column `left` on, of each row that windows at row `top` see; pads hold the zero point. */
AIDGE_KIT_NOINLINE void aidge_rvv_gather(int8_t *to, const int8_t *input, int32_t top, int32_t left, int32_t width,
                                         int32_t zero_point, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels, row_bytes = width * channels;
    const int32_t begin = left < 0 ? -left : 0;
    const int32_t end = shape->in_width - left < width ? shape->in_width - left : width;
    int32_t row;
    for (row = 0; row < shape->kernel_height; row++) {
        const int32_t y = top + row * shape->dilation_height;
        const int32_t is_seen = ((y >= 0) && (y < shape->in_height) && (begin < end)) ? 1 : 0;
        if ((is_seen == 0) || (end - begin < width)) {
            aidge_rvv_fill_bytes(to, zero_point, row_bytes);
        }
        if (is_seen != 0) {
            aidge_rvv_copy_bytes(to + begin * channels, input + (y * shape->in_width + left + begin) * channels,
                           (end - begin) * channels);
        }
        to += row_bytes;
    }
}

/* What the windows of `pixels` neighbours see from (top, left) on, of which the last ones may lie behind the image: where it
 * is, if that may be read while outputs are written and nothing is a pad, else a copy in `room`. */
AIDGE_KIT_NOINLINE aidge_rvv_strip aidge_rvv_strip_of(const int8_t *input, int32_t top, int32_t left, int32_t pixels,
                                                      int8_t *room, int32_t zero_point, const aidge_rvv_sizes *sizes,
                                                      const aidge_kit_window2d *shape)
{
    const int32_t width = (pixels - 1) * shape->stride_width + (shape->kernel_width - 1) * shape->dilation_width + 1;
    const int32_t last = top + (shape->kernel_height - 1) * shape->dilation_height;
    aidge_rvv_strip strip;
    if ((sizes->may_stay != 0) && (top >= 0) && (last < shape->in_height) && (left >= 0) && (left + width <= shape->in_width)) {
        strip.bytes = input + (top * shape->in_width + left) * shape->in_channels;
        strip.row_step = shape->dilation_height * shape->in_width * shape->in_channels;
    } else {
        aidge_rvv_gather(room, input, top, left, width, zero_point, shape);
        strip.bytes = room;
        strip.row_step = width * shape->in_channels;
    }
    strip.row_step = (sizes->row_bytes != 0 ? sizes->row_bytes : strip.row_step) - sizes->run_bytes;
    return strip;
}
