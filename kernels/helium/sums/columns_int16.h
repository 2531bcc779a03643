/* SPDX-License-Identifier: 0BSD */
#include "kit/window2d.h"
#include "values/runs.h"

/* Values at these offsets, side by side. */
static inline void aidge_helium_gather_int16(int16_t *column, const int16_t *from, const uint16_t *offsets, int32_t taps)
{
    __asm__ volatile("wlstp.16 lr, %[taps], 2f\n"
                     "1:\n\t"
                     "vldrh.u16 q0, [%[offsets]], #16\n\t"
                     "vldrh.u16 q1, [%[from], q0, uxtw #1]\n\t"
                     "vstrh.16 q1, [%[column]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [column] "+r"(column), [offsets] "+r"(offsets)
                     : [from] "r"(from), [taps] "r"(taps)
                     : "lr", "d0", "d1", "d2", "d3", "memory");
}

/*
 * The window of one pixel, side by side: `fill` outside of the image; offsets: of the taps of a window from the first.
 */
AIDGE_KIT_NOINLINE void aidge_helium_column_int16(int16_t *column, const int16_t *input, const uint16_t *offsets, int32_t y, int32_t x,
                                                  int32_t fill, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t width = shape->kernel_width;
    const int32_t taps = shape->kernel_height * width * channels;
    const int32_t top = y * shape->stride_height - shape->pad_top;
    const int32_t left = x * shape->stride_width - shape->pad_left;
    const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
    const int32_t end_y = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height);
    const int32_t end_x = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, width);
    const int16_t value = (int16_t)fill;
    int32_t tap_y, tap_x;
    if ((first_y == 0) && (first_x == 0) && (end_y == shape->kernel_height) && (end_x == width)) {
        aidge_helium_gather_int16(column, input + (top * shape->in_width + left) * channels, offsets, taps);
        return;
    }
    aidge_helium_fill_bytes((uint8_t *)(void *)column, (const uint8_t *)(const void *)&value, 2 * taps, 2);
    for (tap_y = first_y; tap_y < end_y; tap_y++) {
        const int16_t *from = input + (top + tap_y * shape->dilation_height) * shape->in_width * channels;
        const int32_t together = shape->dilation_width == 1 ? end_x - first_x : 1;
        for (tap_x = first_x; tap_x < end_x; tap_x += together) {
            const int32_t at = (left + tap_x * shape->dilation_width) * channels;
            aidge_helium_copy((int8_t *)(column + (tap_y * width + tap_x) * channels), (const int8_t *)(from + at),
                              2 * together * channels);
        }
    }
}
