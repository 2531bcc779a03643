/* SPDX-License-Identifier: 0BSD */
#include "lines.h"
#include "mve.h"

/* y = the largest of a and b, byte by byte; y may begin where one of them begins. */
static inline void aidge_helium_larger(int8_t *y, const int8_t *a, const int8_t *b, int32_t bytes)
{
#if AIDGE_HELIUM_ASSEMBLY
    __asm__ volatile("wlstp.8 lr, %[bytes], 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [%[a]], #16\n\t"
                     "vldrb.u8 q1, [%[b]], #16\n\t"
                     "vmax.s8 q0, q0, q1\n\t"
                     "vstrb.8 q0, [%[y]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [y] "+&r"(y), [a] "+&r"(a), [b] "+&r"(b)
                     : [bytes] "r"(bytes)
                     : "lr", "d0", "d1", "d2", "d3", "memory");
#else
    int32_t i;
    for (i = 0; i < bytes; i++) {
        y[i] = a[i] > b[i] ? a[i] : b[i];
    }
#endif
}

/* The largest of three runs of bytes that begin `step` apart. */
#if AIDGE_HELIUM_ASSEMBLY
AIDGE_HELIUM_NAKED void aidge_helium_largest(int8_t *y AIDGE_HELIUM_UNUSED, const int8_t *first AIDGE_HELIUM_UNUSED,
                                             int32_t step AIDGE_HELIUM_UNUSED, int32_t bytes AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4, lr}\n\t"
                     "add r12, r1, r2, lsl #1\n\t"
                     "add r2, r1, r2\n\t"
                     "wlstp.8 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [r1], #16\n\t"
                     "vldrb.u8 q1, [r2], #16\n\t"
                     "vmax.s8 q0, q0, q1\n\t"
                     "vldrb.u8 q1, [r12], #16\n\t"
                     "vmax.s8 q0, q0, q1\n\t"
                     "vstrb.8 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}");
}
#else
static void aidge_helium_largest(int8_t *y, const int8_t *first, int32_t step, int32_t bytes)
{
    int32_t i;
    for (i = 0; i < bytes; i++) {
        const int8_t larger = first[i] > first[i + step] ? first[i] : first[i + step];
        y[i] = larger > first[i + 2 * step] ? larger : first[i + 2 * step];
    }
}
#endif

/* The largest of `count` runs of bytes that begin `step` apart. With more than three, y must not lie over them. */
static void aidge_helium_largest_of(int8_t *y, const int8_t *first, int32_t step, int32_t count, int32_t bytes)
{
    if (count == 1) {
        aidge_helium_copy(y, first, bytes);
    } else if (count == 2) {
        aidge_helium_larger(y, first, first + step, bytes);
    } else {
        aidge_helium_largest(y, first, step, bytes);
        for (first += 3 * step; count > 3; count--) {
            aidge_helium_larger(y, y, first, bytes);
            first += step;
        }
    }
}

/* Of pixels that begin line->stride apart in the line. */
AIDGE_KIT_NOINLINE void aidge_helium_largest_pixels(int8_t *y, const int8_t *from, int32_t taps, int32_t pixels, const aidge_helium_line *line)
{
    const int32_t channels = line->channels, step = line->column_step;
    for (; pixels > 0; pixels--) {
        if (taps == 2) {
            aidge_helium_larger(y, from, from + step, channels);
        } else if (taps == 3) {
            aidge_helium_largest(y, from, step, channels);
        } else {
            aidge_helium_largest_of(y, from, step, taps, channels);
        }
        from += line->stride;
        y += channels;
    }
}

#if AIDGE_HELIUM_ASSEMBLY
/* The same of short pixels, `lanes` values at a time. */
AIDGE_KIT_NOINLINE void aidge_helium_largest_gathered(int8_t *y, const int8_t *from, int32_t taps, int32_t values, int32_t lanes,
                                          const aidge_helium_line *line, const uint8_t *places)
{
    const uint8x16_t offsets = vldrbq_u8(places);
    const int32_t next = lanes / line->channels * line->stride;
    for (; values > 0; values -= lanes) {
        const mve_pred16_t mask = vctp8q((uint32_t)(values < lanes ? values : lanes));
        const int8_t *tap = from;
        int8x16_t largest = vldrbq_gather_offset_z_s8(tap, offsets, mask);
        int32_t left;
        for (left = taps - 1; left > 0; left--) {
            tap += line->column_step;
            largest = vmaxq_s8(largest, vldrbq_gather_offset_z_s8(tap, offsets, mask));
        }
        vstrbq_p_s8(y, largest, mask);
        from += next;
        y += lanes;
    }
}
#endif

static void aidge_helium_clamp_row(int8_t *y, const int8_t *levels, int32_t bytes)
{
#if AIDGE_HELIUM_ASSEMBLY
    for (; bytes > 0; bytes -= 16) {
        const mve_pred16_t mask = vctp8q((uint32_t)bytes);
        const int8x16_t values = vmaxq_s8(vldrbq_z_s8(y, mask), vdupq_n_s8(levels[0]));
        vstrbq_p_s8(y, vminq_s8(values, vdupq_n_s8(levels[1])), mask);
        y += 16;
    }
#else
    int32_t i;
    for (i = 0; i < bytes; i++) {
        y[i] = y[i] < levels[0] ? levels[0] : y[i] > levels[1] ? levels[1] : y[i];
    }
#endif
}

/*
 * The largest value of each window, int8, channels last; taps in the pads never win. levels: {lowest, highest};
 * scratch: a line.
 */
static void aidge_helium_maxpool2d(const int8_t *x, int8_t *y, void *scratch, const int8_t *levels,
                                   const aidge_kit_window2d *shape)
{
    const aidge_helium_line line = aidge_helium_line_of(shape);
    const int32_t taps = shape->kernel_width;
    const int32_t values = shape->out_width * line.channels;
    const int32_t clamps = ((levels[0] > -128) || (levels[1] < 127)) ? 1 : 0;
    const int32_t is_whole = ((line.inside == line.columns) && (taps <= 3)) ? 1 : 0;
    int8_t *const inside = (int8_t *)scratch + shape->pad_left * line.channels;
    int32_t batch, out_y;
#if AIDGE_HELIUM_ASSEMBLY
    const int32_t lanes = aidge_helium_gathered(&line, 16);
    uint8_t places[16];
    if (lanes != 0) {
        aidge_helium_places(places, &line, lanes);
    }
#endif
    aidge_helium_fill((int8_t *)scratch, -128, line.columns * line.channels);
    for (batch = 0; batch < shape->batches; batch++) {
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            const int32_t top = out_y * shape->stride_height - shape->pad_top;
            const int32_t first = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first;
            const int8_t *from = x + (top + first * shape->dilation_height) * line.in_row;
            if ((rows > 1) || (is_whole == 0)) {
                aidge_helium_largest_of(inside, from, line.row_step, rows, line.inside * line.channels);
                from = (const int8_t *)scratch;
            }
            if (line.stride == line.channels) {
                aidge_helium_largest_of(y, from, line.column_step, taps, values);
#if AIDGE_HELIUM_ASSEMBLY
            } else if (lanes != 0) {
                aidge_helium_largest_gathered(y, from, taps, values, lanes, &line, places);
#endif
            } else {
                aidge_helium_largest_pixels(y, from, taps, shape->out_width, &line);
            }
            if (clamps != 0) {
                aidge_helium_clamp_row(y, levels, values);
            }
            y += values;
        }
        x += shape->in_height * line.in_row;
    }
}
