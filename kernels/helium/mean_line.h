/* SPDX-License-Identifier: 0BSD */
#include "lines.h"
#include "kit/mean_columns.h"
#include "kit/mean_turn.h"
#include "mve.h"

/*
 * Means of int8 windows whose sums are made in two steps (lines.h). The level of a sum is sum * multiplier + start, shifted by 16
 * and then, rounded, by `drop`. The generator has proved it for all sums but at most two, the suspects: there the order of
 * summation in float32 counts.
 */
typedef struct {
    aidge_kit_window2d shape;
    int32_t order;    /* AIDGE_HELIUM_BY_COLUMNS or as the values lie */
    int32_t kinds;    /* of columns: what their windows see and count */
    int32_t segments; /* of neighbouring columns of one kind: {pixels, kind} */
    int32_t lowest, highest;
} aidge_helium_means;

#define AIDGE_HELIUM_BY_COLUMNS 1

/* Of a kind of rows and one of columns; behind them those of kit/mean.h for the count. */
enum {
    AIDGE_HELIUM_MEAN_FACTOR,
    AIDGE_HELIUM_MEAN_START,
    AIDGE_HELIUM_MEAN_SUSPECT,
    AIDGE_HELIUM_MEAN_OTHER,
    AIDGE_HELIUM_MEAN_COUNT,
    AIDGE_HELIUM_MEAN_EXACT,
    AIDGE_HELIUM_MEAN_KIND = (int)AIDGE_HELIUM_MEAN_EXACT + (int)AIDGE_KIT_MEAN_NUMBERS
};

/* A row of outputs: where its windows begin in the image, and how many rows of it they see. */
typedef struct {
    const aidge_helium_means *layer;
    const int8_t *image;
    int32_t rows;
} aidge_helium_mean_row;

/* The stored mean of the element so numbered in its row, added up in float32 as the order says. */
AIDGE_KIT_INLINE int8_t aidge_helium_exact_mean(const aidge_helium_mean_row *row, int32_t element, const int32_t *kind)
{
    const aidge_kit_window2d *const shape = &row->layer->shape;
    const int32_t channels = shape->in_channels;
    const int32_t pixel = aidge_kit_divide(element, channels);
    const int32_t left = pixel * shape->stride_width - shape->pad_left;
    const int32_t first = aidge_kit_first_tap(left, shape->dilation_width);
    const int32_t *const numbers = kind + AIDGE_HELIUM_MEAN_EXACT;
    const int32_t count = kind[AIDGE_HELIUM_MEAN_COUNT];
    const int8_t *const source =
        row->image + (left + first * shape->dilation_width) * channels + (element - pixel * channels);
    aidge_kit_values window;
    window.rows = row->rows;
    window.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first;
    window.row_step = shape->dilation_height * shape->in_width * channels;
    window.column_step = shape->dilation_width * channels;
    return aidge_kit_stored_level(row->layer->order == AIDGE_HELIUM_BY_COLUMNS
                                      ? aidge_kit_mean_columns(source, &window, count, numbers)
                                      : aidge_kit_mean_turn(source, &window, count, numbers),
                                  numbers);
}

/* line = the sums of `rows` runs of `count` bytes that begin `step` apart. */
static inline void aidge_helium_sum_rows(int16_t *line, const int8_t *first, int32_t step, int32_t rows, int32_t count)
{
    int32_t i;
#if AIDGE_HELIUM_ASSEMBLY
    for (; count > 0; count -= 8) {
        const mve_pred16_t mask = vctp16q((uint32_t)count);
        const int8_t *row = first;
        int16x8_t sums = vldrbq_z_s16(row, mask);
        for (i = 1; i < rows; i++) {
            row += step;
            sums = vaddq_s16(sums, vldrbq_z_s16(row, mask));
        }
        vstrhq_p_s16(line, sums, mask);
        first += 8;
        line += 8;
    }
#else
    for (i = 0; i < count; i++) {
        int32_t sum = 0, row;
        for (row = 0; row < rows; row++) {
            sum += first[row * step + i];
        }
        line[i] = (int16_t)sum;
    }
#endif
}

#if AIDGE_HELIUM_ASSEMBLY
/* The same of one, two and three. */
AIDGE_HELIUM_NAKED void aidge_helium_sum_1(int16_t *line AIDGE_HELIUM_UNUSED, const int8_t *first AIDGE_HELIUM_UNUSED,
                                           int32_t count AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4, lr}\n\t"
                     "wlstp.16 lr, r2, 2f\n"
                     "1:\n\t"
                     "vldrb.s16 q0, [r1], #8\n\t"
                     "vstrh.16 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}");
}

AIDGE_HELIUM_NAKED void aidge_helium_sum_2(int16_t *line AIDGE_HELIUM_UNUSED, const int8_t *first AIDGE_HELIUM_UNUSED,
                                           int32_t step AIDGE_HELIUM_UNUSED, int32_t count AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4, lr}\n\t"
                     "add r2, r1, r2\n\t"
                     "wlstp.16 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s16 q0, [r1], #8\n\t"
                     "vldrb.s16 q1, [r2], #8\n\t"
                     "vadd.i16 q0, q0, q1\n\t"
                     "vstrh.16 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}");
}

AIDGE_HELIUM_NAKED void aidge_helium_sum_3(int16_t *line AIDGE_HELIUM_UNUSED, const int8_t *first AIDGE_HELIUM_UNUSED,
                                           int32_t step AIDGE_HELIUM_UNUSED, int32_t count AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4, lr}\n\t"
                     "add r4, r1, r2, lsl #1\n\t"
                     "add r2, r1, r2\n\t"
                     "wlstp.16 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s16 q0, [r1], #8\n\t"
                     "vldrb.s16 q1, [r2], #8\n\t"
                     "vadd.i16 q0, q0, q1\n\t"
                     "vldrb.s16 q1, [r4], #8\n\t"
                     "vadd.i16 q0, q0, q1\n\t"
                     "vstrh.16 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}");
}

/* Of a kind, in registers. */
typedef struct {
    int32x4_t factor;
    int32_t start;
    int16_t suspect, other;
} aidge_helium_mean_kind;

AIDGE_KIT_INLINE aidge_helium_mean_kind aidge_helium_mean_kind_of(const int32_t *numbers)
{
    aidge_helium_mean_kind kind;
    kind.factor = vdupq_n_s32(numbers[AIDGE_HELIUM_MEAN_FACTOR]);
    kind.start = numbers[AIDGE_HELIUM_MEAN_START];
    kind.suspect = (int16_t)numbers[AIDGE_HELIUM_MEAN_SUSPECT];
    kind.other = (int16_t)numbers[AIDGE_HELIUM_MEAN_OTHER];
    return kind;
}

/* Means of eight sums as stored bytes in halfwords; away: halves of negative sums go away from zero. */
AIDGE_KIT_INLINE int16x8_t aidge_helium_levels_of_sums(int16x8_t sums, const aidge_helium_mean_kind *own,
                                                       const aidge_helium_means *layer, int32_t clamps, int32_t away,
                                                       int32_t drop)
{
    int32x4_t even, odd;
    int8x16_t levels;
    if (away != 0) {
        sums = vaddq_s16(sums, vshrq_n_s16(sums, 15));
    }
    even = vmlasq_n_s32(vmovlbq_s16(sums), own->factor, own->start);
    odd = vmlasq_n_s32(vmovltq_s16(sums), own->factor, own->start);
    sums = vshrntq_n_s32(vshrnbq_n_s32(sums, even, 16), odd, 16);
    levels = vreinterpretq_s8_s16(sums);
    levels = drop == 6 ? vqrshrnbq_n_s16(levels, sums, 6) : vqmovnbq_s16(levels, vrshlq_n_s16(sums, -drop));
    if (clamps != 0) {
        levels = vminq_s8(vmaxq_s8(levels, vdupq_n_s8((int8_t)layer->lowest)), vdupq_n_s8((int8_t)layer->highest));
    }
    return vreinterpretq_s16_s8(levels);
}

/* The levels with those of suspect sums, among the first `lanes`, added up as the order says. */
AIDGE_KIT_NOINLINE int16x8_t aidge_helium_exact_means(int16x8_t levels, int16x8_t sums, int32_t lanes, int32_t element,
                                                      const aidge_helium_mean_row *row, const int32_t *kind)
{
    int8_t some[8];
    uint32_t suspects = (uint32_t)vcmpeqq_n_s16(sums, (int16_t)kind[AIDGE_HELIUM_MEAN_SUSPECT]);
    int32_t lane;
    suspects |= (uint32_t)vcmpeqq_n_s16(sums, (int16_t)kind[AIDGE_HELIUM_MEAN_OTHER]);
    vstrbq_s16(some, levels);
    for (lane = 0; lane < lanes; lane++) {
        if ((suspects >> (2 * lane) & 1u) != 0u) {
            some[lane] = aidge_helium_exact_mean(row, element + lane, kind);
        }
    }
    return vldrbq_s16(some);
}

/* Means of the first `lanes` sums, as aidge_helium_levels_of_sums gives them; element: the number of the first in its row. */
AIDGE_KIT_INLINE int16x8_t aidge_helium_means_of_sums(int16x8_t sums, int32_t lanes, int32_t element,
                                                      const aidge_helium_mean_row *row, const int32_t *kind,
                                                      const aidge_helium_mean_kind *own, int32_t checks, int32_t clamps,
                                                      int32_t away, int32_t drop)
{
    int16x8_t levels = aidge_helium_levels_of_sums(sums, own, row->layer, clamps, away, drop);
    if (checks != 0) {
        const uint16x8_t first = vreinterpretq_u16_s16(vsubq_n_s16(sums, own->suspect));
        const uint16x8_t second = vreinterpretq_u16_s16(vsubq_n_s16(sums, own->other));
        if (vminvq_u16(0xFFFFu, vminq_u16(first, second)) == 0u) {
            levels = aidge_helium_exact_means(levels, sums, lanes, element, row, kind);
        }
    }
    return levels;
}
#endif

#if !AIDGE_HELIUM_ASSEMBLY
/* Numbers of a kind are read where they are wanted. */
typedef int32_t aidge_helium_mean_kind;
#endif

/* A run of outputs, each of `taps` sums that lie `step` apart. */
AIDGE_KIT_INLINE void aidge_helium_means_of_run(int8_t *y, const int8_t *begin, const int16_t *from, int32_t taps, int32_t step,
                                                int32_t count, const aidge_helium_mean_row *row, const int32_t *kind,
                                                const aidge_helium_mean_kind *own, int32_t checks, int32_t clamps,
                                                int32_t away, int32_t drop)
{
    int32_t tap;
#if AIDGE_HELIUM_ASSEMBLY
    for (; count >= 8; count -= 8) {
        int16x8_t sums = vldrhq_s16(from);
        const int16_t *next = from;
        for (tap = 1; tap < taps; tap++) {
            next += step;
            sums = vaddq_s16(sums, vldrhq_s16(next));
        }
        vstrbq_s16(y, aidge_helium_means_of_sums(sums, 8, (int32_t)(y - begin), row, kind, own, checks, clamps, away, drop));
        from += 8;
        y += 8;
    }
    if (count > 0) {
        const mve_pred16_t mask = vctp16q((uint32_t)count);
        int16x8_t sums = vldrhq_z_s16(from, mask);
        for (tap = 1; tap < taps; tap++) {
            from += step;
            sums = vaddq_s16(sums, vldrhq_z_s16(from, mask));
        }
        sums = aidge_helium_means_of_sums(sums, count, (int32_t)(y - begin), row, kind, own, checks, clamps, away, drop);
        vstrbq_p_s16(y, sums, mask);
    }
#else
    (void)clamps;
    (void)own;
    for (; count > 0; count--) {
        int32_t sum = 0, level;
        for (tap = 0; tap < taps; tap++) {
            sum += from[tap * step];
        }
        if ((checks != 0) && ((sum == kind[AIDGE_HELIUM_MEAN_SUSPECT]) || (sum == kind[AIDGE_HELIUM_MEAN_OTHER]))) {
            *y = aidge_helium_exact_mean(row, (int32_t)(y - begin), kind);
        } else {
            sum -= (away != 0) && (sum < 0) ? 1 : 0;
            level = (((sum * kind[AIDGE_HELIUM_MEAN_FACTOR] + kind[AIDGE_HELIUM_MEAN_START]) >> 16) + (1 << (drop - 1))) >> drop;
            level = level < row->layer->lowest ? row->layer->lowest : level;
            *y = (int8_t)(level > row->layer->highest ? row->layer->highest : level);
        }
        from++;
        y++;
    }
#endif
}

#if AIDGE_HELIUM_ASSEMBLY
/* The same of short pixels that begin line->stride apart, `lanes` outputs at a time. */
AIDGE_KIT_INLINE void aidge_helium_means_gathered(int8_t *y, const int8_t *begin, const int16_t *from, int32_t taps,
                                                  int32_t count, int32_t lanes, const aidge_helium_line *line,
                                                  const uint8_t *places, const aidge_helium_mean_row *row,
                                                  const int32_t *kind, const aidge_helium_mean_kind *own, int32_t checks,
                                                  int32_t clamps, int32_t away, int32_t drop)
{
    const uint16x8_t offsets = vldrbq_u16(places);
    const int32_t next = lanes / line->channels * line->stride;
    int32_t tap;
    for (; count > 0; count -= lanes) {
        const int32_t some = count < lanes ? count : lanes;
        const mve_pred16_t mask = vctp16q((uint32_t)some);
        const int16_t *of = from;
        int16x8_t sums = vldrhq_gather_shifted_offset_z_s16(of, offsets, mask);
        for (tap = 1; tap < taps; tap++) {
            of += line->column_step;
            sums = vaddq_s16(sums, vldrhq_gather_shifted_offset_z_s16(of, offsets, mask));
        }
        sums = aidge_helium_means_of_sums(sums, some, (int32_t)(y - begin), row, kind, own, checks, clamps, away, drop);
        vstrbq_p_s16(y, sums, mask);
        from += next;
        y += lanes;
    }
}
#endif

/*
 * The mean of each window, int8, channels last; taps in the pads are zeros. scratch: a line of int16 and 16 bytes; row_kinds: of each row of
 * outputs; segments: see aidge_helium_means.
 */
AIDGE_KIT_INLINE void aidge_helium_mean_line(const int8_t *x, int8_t *y, void *scratch, const int32_t *numbers,
                                             const int32_t *row_kinds, const int32_t *segments,
                                             const aidge_helium_means *layer, int32_t taps, int32_t checks, int32_t clamps,
                                             int32_t away, int32_t drop)
{
    const aidge_kit_window2d *const shape = &layer->shape;
    const aidge_helium_line line = aidge_helium_line_of(shape);
    const int32_t channels = line.channels, inner = line.inside * channels;
    int16_t *const inside = (int16_t *)scratch + shape->pad_left * channels;
    aidge_helium_mean_row row;
    int32_t batch, out_y, segment;
#if AIDGE_HELIUM_ASSEMBLY
    const int32_t lanes = aidge_helium_gathered(&line, 8);
    uint8_t *const places = (uint8_t *)scratch + 2 * line.columns * channels;
    if (lanes != 0) {
        aidge_helium_places(places, &line, lanes);
    }
#endif
    row.layer = layer;
    (void)memset(scratch, 0, (uint32_t)(2 * line.columns * channels));
    for (batch = 0; batch < shape->batches; batch++) {
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            const int32_t top = out_y * shape->stride_height - shape->pad_top;
            const int32_t first = aidge_kit_first_tap(top, shape->dilation_height);
            const int16_t *from = (const int16_t *)scratch;
            const int8_t *const begin = y;
            row.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first;
            row.image = x + (top + first * shape->dilation_height) * line.in_row;
#if AIDGE_HELIUM_ASSEMBLY
            if (row.rows == 1) {
                aidge_helium_sum_1(inside, row.image, inner);
            } else if (row.rows == 2) {
                aidge_helium_sum_2(inside, row.image, line.row_step, inner);
            } else if (row.rows == 3) {
                aidge_helium_sum_3(inside, row.image, line.row_step, inner);
            } else
#endif
            {
                aidge_helium_sum_rows(inside, row.image, line.row_step, row.rows, inner);
            }
            for (segment = 0; segment < 2 * layer->segments; segment += 2) {
                const int32_t *const kind =
                    numbers + (row_kinds[out_y] * layer->kinds + segments[segment + 1]) * AIDGE_HELIUM_MEAN_KIND;
                int32_t pixels = segments[segment];
                const int32_t count = pixels * channels;
#if AIDGE_HELIUM_ASSEMBLY
                const aidge_helium_mean_kind own = aidge_helium_mean_kind_of(kind);
#else
                const aidge_helium_mean_kind own = 0;
#endif
                if (line.stride == channels) {
                    aidge_helium_means_of_run(y, begin, from, taps, line.column_step, count, &row, kind, &own, checks, clamps,
                                              away, drop);
                    from += count;
                    y += count;
                    continue;
                }
#if AIDGE_HELIUM_ASSEMBLY
                if (lanes != 0) {
                    aidge_helium_means_gathered(y, begin, from, taps, count, lanes, &line, places, &row, kind, &own, checks,
                                                clamps, away, drop);
                    from += pixels * line.stride;
                    y += count;
                    continue;
                }
#endif
                for (; pixels > 0; pixels--) {
                    aidge_helium_means_of_run(y, begin, from, taps, line.column_step, channels, &row, kind, &own, checks,
                                              clamps, away, drop);
                    from += line.stride;
                    y += channels;
                }
            }
        }
        x += shape->in_height * line.in_row;
    }
}
