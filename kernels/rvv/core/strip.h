/* SPDX-License-Identifier: 0BSD */
#include "core/bytes.h"
#include "kit/window2d.h"

/* Channels of the output; rows of a window; loops in a row; bytes from a pixel's window to the next, from a tap of a row to
 * the next, and from pixels that are computed together to the next ones; the texts read these. Bytes of a row over which the
 * text moves its pointers; bytes from a row to the next, 0 if rows of windows are rows of the image; columns of a window;
 * whether windows may be read where they are. */
typedef struct {
    int32_t channels, rows, turns, step, tap_bytes, block_bytes, run_bytes, row_bytes, columns, may_stay;
} aidge_rvv_sizes;

/* How far it is from the end of a row of a window to the next one, in an image or a copy with so many columns. */
AIDGE_KIT_INLINE int32_t aidge_rvv_row_step(int32_t width, const aidge_rvv_sizes *sizes, const aidge_kit_window2d *shape)
{
    return (sizes->row_bytes != 0 ? sizes->row_bytes : width * shape->in_channels) - sizes->run_bytes;
}

/* A copy of `width` pixels from column `left` on, of each row that windows at row `top` see; pads hold the zero point. */
AIDGE_KIT_NOINLINE void aidge_rvv_gather(int8_t *to, const int8_t *input, int32_t top, int32_t left, int32_t width,
                                         int32_t zero_point, const aidge_kit_window2d *shape)
{
    const int32_t row_bytes = width * shape->in_channels, image_bytes = shape->in_width * shape->in_channels;
    const int32_t begin = left * shape->in_channels, end = begin + row_bytes;
    const int32_t before = begin < 0 ? -begin : 0;
    const int32_t after = end > image_bytes ? end - image_bytes : 0;
    int32_t row;
    for (row = 0; row < shape->kernel_height; row++) {
        const int32_t y = top + row * shape->dilation_height;
        if ((y < 0) || (y >= shape->in_height) || (before + after >= row_bytes)) {
            aidge_rvv_fill_bytes(to, zero_point, row_bytes);
        } else {
            if (before > 0) {
                aidge_rvv_fill_bytes(to, zero_point, before);
            }
            if (after > 0) {
                aidge_rvv_fill_bytes(to + row_bytes - after, zero_point, after);
            }
            aidge_rvv_copy_bytes(to + before, input + y * image_bytes + begin + before, row_bytes - before - after);
        }
        to += row_bytes;
    }
}

/* How many pixels from column x on, in whole blocks, have windows without pads that may be read where they are; the first one
 * begins at (top, left). */
AIDGE_KIT_NOINLINE int32_t aidge_rvv_staying(int32_t top, int32_t left, int32_t x, int32_t block, const aidge_rvv_sizes *sizes,
                                             const aidge_kit_window2d *shape)
{
    const int32_t room = shape->in_width - sizes->columns - left;
    const int32_t last = top + (shape->kernel_height - 1) * shape->dilation_height;
    int32_t count;
    if ((sizes->may_stay == 0) || (top < 0) || (last >= shape->in_height) || (left < 0) || (room < 0)) {
        return 0;
    }
    count = room / shape->stride_width + 1;
    count = count < shape->out_width - x ? count : shape->out_width - x;
    return count - count % block;
}
