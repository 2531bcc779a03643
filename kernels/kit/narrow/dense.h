/* SPDX-License-Identifier: 0BSD */
#include "kit/requantize.h"
#include "kit/window2d.h"
#include "three_sums.h"

/*
 * The stream of words that the dense kernels read.
 *
 * Head: lowest - highest level of the output, highest level, bits of a multiplier's low part, the input's zero point; the
 *   three numbers of aidge_kit_load_levels.
 * Each group of channels that are computed together: the start of each channel's sums; the weights as bytes, all channels of a
 *   tap next to each other; for each channel width, constant and multiplier of the requantization (forms `single` and
 *   `chunked`), or unit, fraction and a float, which scales unit * sum + fraction (form `sums`); then its corrections, if the
 *   text has them: the highest byte of the width is their number. If the text says so, a word before each channel holds the
 *   offset of all its weights; the sums of the taps, which the offset multiplies, are in 6 words before the columns.
 *
 * On RISC-V the word of the bits holds 256 * level bits + 32 - bits, and in form `single` corrections are for sums that are
 * shifted up by 11 (requantize.py).
 *
 * Columns: four words for each tap, X and Y of pixels 0 to 2, then of pixels 3 to 5: X = a + 2^21 b, Y = c + 2^11 b.
 */
enum { AIDGE_KIT_NARROW_HEAD_WORDS = 7, AIDGE_KIT_NARROW_PIXELS = 6 };

/* The numbers of a layer: bytes of a chunk of the column and of the whole, bytes of a run of taps, runs in a row of the
 * window; whether any tap is outside of the image; the begin of the last windows that end inside. Assembly reads the first
 * three fields. */
typedef struct {
    int32_t channels, chunk_bytes, column_bytes, run, runs, has_pads, last_top, last_left;
} aidge_kit_narrow_dense;

/* The pixels that are computed: where their outputs go, `left` and more of the image at `input`, the first at (y, x). */
typedef struct {
    int8_t *outputs[AIDGE_KIT_NARROW_PIXELS];
    const int8_t *input;
    int8_t *output;
    uint32_t *columns; /* behind them a run of zero points, and a run for each of three pixels, where it lies across an edge */
    const aidge_kit_narrow_dense *dense;
    const aidge_kit_window2d *shape;
    int32_t left, y, x;
} aidge_kit_narrow_window;

/* Runs of three pixels as the words X and Y, 16 bytes from tap to tap. Here, count > 0. */
#if defined(AIDGE_KIT_NAKED) && defined(__thumb__)
AIDGE_KIT_NAKED void aidge_kit_narrow_pack(AIDGE_KIT_PASSED uint32_t *target,
                                              AIDGE_KIT_PASSED const int8_t *const *sources, AIDGE_KIT_PASSED int32_t count)
{
    __asm__(
        ".syntax unified\n"
        "    push {r4-r7, lr}\n"
        "    mov r7, r0\n"
        "    ldm r1!, {r4-r6}\n"
        "    adds r0, r4, r2\n"
        "    adds r1, r5, r2\n"
        "    rsbs r3, r2, #0\n"
        "    adds r2, r6, r2\n"
        "1:\n"
        "    ldrsb r4, [r0, r3]\n"
        "    ldrsb r5, [r1, r3]\n"
        "    ldrsb r6, [r2, r3]\n"
        "    lsls r5, r5, #11\n"
        "    adds r6, r6, r5\n"
        "    lsls r5, r5, #10\n"
        "    adds r4, r4, r5\n"
        "    str r4, [r7]\n"
        "    str r6, [r7, #4]\n"
        "    adds r7, r7, #16\n"
        "    adds r3, r3, #1\n"
        "    bne 1b\n"
        "    pop {r4-r7, pc}\n"
    );
}
#else
AIDGE_KIT_INLINE void aidge_kit_narrow_pack_one(uint32_t *target, int32_t first, int32_t second, int32_t third)
{
    const uint32_t middle = (uint32_t)second << 11;
    target[0] = (uint32_t)first + (middle << 10);
    target[1] = (uint32_t)third + middle;
}

AIDGE_KIT_NOINLINE void aidge_kit_narrow_pack_three(uint32_t *target, const int8_t *first, const int8_t *second,
                                                    const int8_t *third, int32_t count)
{
    const int8_t *const end = first + count;
    const int8_t *const fours = first + (count & ~3);
    for (; first != fours; first += 4) {
        aidge_kit_narrow_pack_one(target, first[0], second[0], third[0]);
        aidge_kit_narrow_pack_one(target + 4, first[1], second[1], third[1]);
        aidge_kit_narrow_pack_one(target + 8, first[2], second[2], third[2]);
        aidge_kit_narrow_pack_one(target + 12, first[3], second[3], third[3]);
        target += 16;
        second += 4;
        third += 4;
    }
    while (first != end) {
        aidge_kit_narrow_pack_one(target, *first, *second, *third);
        first++;
        second++;
        third++;
        target += 4;
    }
}

AIDGE_KIT_INLINE void aidge_kit_narrow_pack(uint32_t *target, const int8_t *const *sources, int32_t count)
{
    aidge_kit_narrow_pack_three(target, sources[0], sources[1], sources[2], count);
}
#endif

/* The run of zero points behind the columns, where there are pads. */
AIDGE_KIT_INLINE void aidge_kit_narrow_fill(const aidge_kit_narrow_window *window, const int32_t *stream)
{
    if (window->dense->has_pads != 0) {
        (void)memset((int8_t *)window->columns + window->dense->column_bytes, stream[3], (uint32_t)window->dense->run);
    }
}

/* From the last pixel of an image to the first one of the next. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_next_image(aidge_kit_narrow_window *window)
{
    window->input += window->shape->in_height * window->shape->in_width * window->shape->in_channels;
    window->output += window->shape->out_channels;
    window->y = 0;
    window->x = 0;
}

/* The outputs of 6 sums by the general requantization, with three of a channel's numbers. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_store(const int32_t *sums, const int32_t *numbers, const int32_t *stream,
                                               int32_t channel,
                                                int8_t *const *outputs)
{
    const aidge_kit_levels levels = aidge_kit_load_levels(stream + 4);
    float multiplier;
    int32_t pixel;
    (void)memcpy(&multiplier, numbers + 2, sizeof multiplier);
    for (pixel = 0; pixel < AIDGE_KIT_NARROW_PIXELS; pixel++) {
        const int32_t sum = aidge_kit_narrow_fine(sums[pixel], numbers[0], numbers[1]);
        outputs[pixel][channel] = aidge_kit_requantize(sum, multiplier, levels);
    }
}

/* Returns the run of taps that begins in row y and column `left` of the image: in the image, or a copy in `edge` if it has
 * pads. */
AIDGE_KIT_NOINLINE const int8_t *aidge_kit_narrow_run(const aidge_kit_narrow_window *window, int32_t y, int32_t left,
                                                      int8_t *edge)
{
    const int8_t *const blank = (const int8_t *)window->columns + window->dense->column_bytes;
    const int32_t run = window->dense->run;
    const int32_t width = window->shape->in_width * window->shape->in_channels;
    const int8_t *row = window->input + y * width;
    left *= window->shape->in_channels;
    if ((y < 0) || (y >= window->shape->in_height) || (left >= width) || (left + run <= 0)) {
        return blank;
    }
    if ((left >= 0) && (left + run <= width)) {
        return row + left;
    }
    (void)memcpy(edge, blank, (uint32_t)run);
    {
        const int32_t begin = left < 0 ? -left : 0;
        const int32_t end = width - left < run ? width - left : run;
        (void)memcpy(edge + begin, row + left + begin, (uint32_t)(end - begin));
    }
    return edge;
}

/* To the next pixel; behind the last one it is taken again. */
static void aidge_kit_narrow_advance(aidge_kit_narrow_window *window)
{
    if (window->left > 1) {
        window->output += window->shape->out_channels;
        window->x++;
        if (window->x == window->shape->out_width) {
            window->x = 0;
            window->y++;
        }
    }
    window->left--;
}

/* All runs of three windows inside of the image, to their columns. */
AIDGE_KIT_INLINE void aidge_kit_narrow_pack_runs(const aidge_kit_narrow_window *window, uint32_t *columns, const int8_t **sources)
{
    const aidge_kit_window2d *const shape = window->shape;
    const int32_t run_step = shape->dilation_width * shape->in_channels;
    const int32_t row_step = shape->dilation_height * shape->in_width * shape->in_channels - window->dense->runs * run_step;
    int32_t row, run;
    for (row = shape->kernel_height; row > 0; row--) {
        for (run = window->dense->runs; run > 0; run--) {
            aidge_kit_narrow_pack(columns, sources, window->dense->run);
            columns += 4 * window->dense->run;
            sources[0] += run_step;
            sources[1] += run_step;
            sources[2] += run_step;
        }
        sources[0] += row_step;
        sources[1] += row_step;
        sources[2] += row_step;
    }
}

/* Gathers the columns of the next three pixels, `first` and two more, and the places of their outputs. Does nothing and
 * returns 0 if a window crosses an edge. */
#if !defined(__riscv)
AIDGE_KIT_NOINLINE int32_t aidge_kit_narrow_gather_inside(aidge_kit_narrow_window *window, int32_t first)
{
    const aidge_kit_window2d *const shape = window->shape;
    const int8_t *sources[3];
    const int32_t y = window->y, x = window->x, left = window->left;
    int8_t *const output = window->output;
    int32_t pixel;
    AIDGE_KIT_ROLLED
    for (pixel = 0; pixel < 3; pixel++) {
        const int32_t top = window->y * shape->stride_height - shape->pad_top;
        const int32_t begin = window->x * shape->stride_width - shape->pad_left;
        if ((top < 0) || (begin < 0) || (top > window->dense->last_top) || (begin > window->dense->last_left)) {
            window->y = y;
            window->x = x;
            window->left = left;
            window->output = output;
            return 0;
        }
        sources[pixel] = window->input + (top * shape->in_width + begin) * shape->in_channels;
        window->outputs[first + pixel] = window->output;
        aidge_kit_narrow_advance(window);
    }
    aidge_kit_narrow_pack_runs(window, window->columns + (first == 0 ? 0 : 2), sources);
    return 1;
}
#else
/* All runs of three neighbours inside of the image, `next` bytes from window to window, to their columns. Returns 1, so that the
 * caller's frame is free by then. */
AIDGE_KIT_NOINLINE int32_t aidge_kit_narrow_pack_neighbours(const aidge_kit_narrow_window *window, uint32_t *columns,
                                                            const int8_t *source, int32_t next)
{
    const aidge_kit_window2d *const shape = window->shape;
    const int32_t run_step = shape->dilation_width * shape->in_channels, count = window->dense->run;
    const int32_t runs = window->dense->runs;
    const int32_t row_step = shape->dilation_height * shape->in_width * shape->in_channels - runs * run_step;
    int32_t row, run;
    for (row = shape->kernel_height; row > 0; row--) {
        for (run = runs; run > 0; run--) {
            aidge_kit_narrow_pack_three(columns, source, source + next, source + 2 * next, count);
            columns += 4 * count;
            source += run_step;
        }
        source += row_step;
    }
    return 1;
}

/* The same on a core where that is cheaper, for three neighbours in a row that is longer; does nothing for others, too. */
AIDGE_KIT_NOINLINE int32_t aidge_kit_narrow_gather_inside(aidge_kit_narrow_window *window, int32_t first)
{
    const aidge_kit_window2d *const shape = window->shape;
    const int32_t channels = shape->out_channels, next = shape->stride_width * shape->in_channels;
    const int32_t top = window->y * shape->stride_height - shape->pad_top;
    const int32_t begin = window->x * shape->stride_width - shape->pad_left;
    const int32_t x = window->x + 3;
    int8_t *const output = window->output;
    uint32_t *const columns = window->columns + (first == 0 ? 0 : 2);
    const int8_t *source;
    if ((window->left <= 3) || (x > shape->out_width) || (top < 0) || (begin < 0) || (top > window->dense->last_top) ||
        (begin + 2 * shape->stride_width > window->dense->last_left)) {
        return 0;
    }
    source = window->input + (top * shape->in_width + begin) * shape->in_channels;
    window->outputs[first] = output;
    window->outputs[first + 1] = output + channels;
    window->outputs[first + 2] = output + 2 * channels;
    window->output = output + 3 * channels;
    window->left -= 3;
    window->x = x < shape->out_width ? x : 0;
    window->y += x < shape->out_width ? 0 : 1;
    if (shape->kernel_height * window->dense->runs == 1) {
        aidge_kit_narrow_pack_three(columns, source, source + next, source + 2 * next, window->dense->run);
        return 1;
    }
    return aidge_kit_narrow_pack_neighbours(window, columns, source, next);
}
#endif

/* The same of windows that may lie across an edge. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_gather_across(aidge_kit_narrow_window *window, int32_t first)
{
    const aidge_kit_window2d *const shape = window->shape;
    uint32_t *columns = window->columns + (first == 0 ? 0 : 2);
    const int8_t *sources[3];
    int32_t tops[3], lefts[3];
    int32_t pixel, row, run;
    AIDGE_KIT_ROLLED
    for (pixel = 0; pixel < 3; pixel++) {
        tops[pixel] = window->y * shape->stride_height - shape->pad_top;
        lefts[pixel] = window->x * shape->stride_width - shape->pad_left;
        window->outputs[first + pixel] = window->output;
        aidge_kit_narrow_advance(window);
    }
    for (row = 0; row < shape->kernel_height; row++) {
        for (run = 0; run < window->dense->runs; run++) {
            int8_t *edge = (int8_t *)window->columns + window->dense->column_bytes;
            AIDGE_KIT_ROLLED
            for (pixel = 0; pixel < 3; pixel++) {
                edge += window->dense->run;
                sources[pixel] = aidge_kit_narrow_run(window, tops[pixel] + row * shape->dilation_height,
                                                  lefts[pixel] + run * shape->dilation_width, edge);
            }
            aidge_kit_narrow_pack(columns, sources, window->dense->run);
            columns += 4 * window->dense->run;
        }
    }
}

/* The sums of all taps of each pixel, before the columns: as four words, as those of a tap are, or on their own. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_shift_of(uint32_t *columns, int32_t taps, int32_t is_packed)
{
    uint32_t *const shifts = columns - AIDGE_KIT_NARROW_PIXELS;
    uint32_t first = 0, second = 0, third = 0, fourth = 0;
    for (; taps > 0; taps--) {
        first += columns[0];
        second += columns[1];
        third += columns[2];
        fourth += columns[3];
        columns += 4;
    }
    if (is_packed != 0) {
        shifts[0] = first;
        shifts[1] = second;
        shifts[2] = third;
        shifts[3] = fourth;
        return;
    }
    (void)memset(shifts, 0, AIDGE_KIT_NARROW_PIXELS * sizeof shifts[0]);
    aidge_kit_narrow_separate(first, second, (int32_t *)shifts);
    aidge_kit_narrow_separate(third, fourth, (int32_t *)shifts + 3);
}

/* The columns of the next 6 pixels. */
AIDGE_KIT_INLINE void aidge_kit_narrow_gather(aidge_kit_narrow_window *window)
{
    if (aidge_kit_narrow_gather_inside(window, 0) == 0) {
        aidge_kit_narrow_gather_across(window, 0);
    }
    if (aidge_kit_narrow_gather_inside(window, 3) == 0) {
        aidge_kit_narrow_gather_across(window, 3);
    }
}
