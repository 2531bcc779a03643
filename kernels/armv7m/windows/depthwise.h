/* SPDX-License-Identifier: 0BSD */
#include <stddef.h>
#include "sums/dense.h"
#include "kit/window2d.h"

/*
 * Depthwise convolution in place, channel after channel: a plane holds the values that rows of outputs see, in words of two
 * outputs, first + second * 2^23; the second output is `down` rows and `right` columns from the first one.
 */
typedef struct {
    int32_t rows, band;          /* rows of pairs, and as many of them as the plane serves at once */
    int32_t plane_rows, pitch;   /* rows of the plane for a whole band, and words of a row */
    int32_t down, right;
    int32_t columns;             /* pairs of a row */
    int32_t blocks, rest;        /* of a row: blocks of 3 pairs, and pairs behind them */
    int32_t before, seconds, both, firsts; /* words of a row: pads, only the second in the image, both, only the first; more pads */
} aidge_armv7m_depthwise;

/* The same for all channels: bytes of the output from column to column, from the first to the second of a pair, from there to the
 * next block or row; bytes of the plane from row to row of a window, from there to the next block, and from a row's end to the
 * next one. Assembly reads it in this order. */
typedef struct {
    int32_t stride, second, advance, tail, blocks;
    int32_t step, back, end;
    aidge_armv7m_limits limits;
} aidge_armv7m_deep;

/* The way to fill rows of the plane: bytes of the input from column to column, from the first to the second value, from a row
 * to the next one; bytes of the plane from a row to the next one; words of each kind, the words with both values in pairs.
 * Assembly reads the fields in this order. */
typedef struct {
    int32_t step, apart, pads, skip;
    int32_t plane_skip, seconds, firsts, odd, entry, turns;
} aidge_armv7m_fill;

/* The head of the scratch: it would be much of a stack. */
typedef struct {
    aidge_armv7m_deep deep;
    aidge_armv7m_fill fill;
} aidge_armv7m_shared;

AIDGE_KIT_NOINLINE void aidge_armv7m_share_deep(aidge_armv7m_deep *deep, const aidge_armv7m_depthwise *shape,
                                                const int32_t *numbers, const aidge_kit_window2d *window)
{
    const int32_t channels = window->in_channels;
    const int32_t word = (int32_t)sizeof(uint32_t);
    deep->stride = channels;
    deep->second = (shape->down * window->out_width + shape->right) * channels;
    deep->advance = 3 * channels - deep->second;
    deep->tail = (window->out_width - shape->columns + shape->rest) * channels - (shape->rest > 0 ? deep->second : 0);
    deep->blocks = shape->blocks;
    deep->step = word * window->dilation_height * shape->pitch;
    deep->back = word * 3 * window->stride_width - deep->step * (window->kernel_height - 1);
    deep->end = word * (window->stride_height * shape->pitch - (shape->columns - shape->rest) * window->stride_width)
               - (shape->rest > 0 ? deep->step * (window->kernel_height - 1) : 0);
    deep->limits = aidge_armv7m_limits_of(numbers);
}

AIDGE_KIT_NOINLINE void aidge_armv7m_share_fill(aidge_armv7m_fill *fill, const aidge_armv7m_depthwise *shape, int32_t pads,
                                                const aidge_kit_window2d *window)
{
    const int32_t channels = window->in_channels;
    const int32_t row = window->in_width * channels;
    const int32_t filled = shape->seconds + shape->both + shape->firsts;
    const int32_t pairs = shape->both / 2;
    fill->step = channels;
    fill->apart = shape->down * window->stride_height * row + shape->right * window->stride_width * channels;
    fill->pads = pads;
    fill->skip = row - filled * channels;
    fill->plane_skip = (int32_t)sizeof(uint32_t) * (shape->pitch - filled);
    fill->seconds = shape->seconds;
    fill->firsts = shape->firsts;
    fill->odd = shape->both % 2;
    fill->entry = pairs > 0 ? (4 - pairs % 4) % 4 : 4;
    fill->turns = pairs > 0 ? (pairs + 3) / 4 : 1;
}

/* How many rows of the plane so many rows of pairs see. */
static inline int32_t aidge_armv7m_plane_rows(int32_t rows, const aidge_kit_window2d *window)
{
    return (rows - 1) * window->stride_height + (window->kernel_height - 1) * window->dilation_height + 1;
}

/* Returns how many of these rows of the plane have both values inside the image, counted from the first row on, which begins
 * with row `top` of the image. */
static inline int32_t aidge_armv7m_rows_inside(int32_t top, int32_t rows, const aidge_armv7m_depthwise *shape,
                                               const aidge_kit_window2d *window)
{
    const int32_t room = window->in_height - shape->down * window->stride_height - top;
    return top < 0 ? 0 : room < rows ? room : rows;
}

/* `gone` of these rows of the plane are not wanted any more, the others move up. Returns how many these are. */
static int32_t aidge_armv7m_keep_rows(uint32_t *plane, int32_t rows, int32_t gone, int32_t pitch)
{
    const int32_t kept = rows > gone ? rows - gone : 0;
    const uint32_t *source = plane + gone * pitch;
    int32_t count;
    for (count = kept * pitch; count > 0; count--) {
        *plane++ = *source++;
    }
    return kept;
}

static inline void aidge_armv7m_clear_plane(uint32_t *plane, int32_t pads, const aidge_armv7m_depthwise *shape)
{
    int32_t count;
    for (count = shape->plane_rows * shape->pitch; count > 0; count--) {
        *plane++ = (uint32_t)pads + ((uint32_t)pads << AIDGE_ARMV7M_FIELD);
    }
}

/* Words of a row of the plane in which at least one value is inside the image, if no row or one row of the image is seen: the
 * two values of a word are then in one column. `row` is the row of the first values. */
AIDGE_KIT_NOINLINE void aidge_armv7m_edge_row(uint32_t *words, const int8_t *image, int32_t row, int32_t pads,
                                              const aidge_armv7m_depthwise *shape, const aidge_kit_window2d *window)
{
    const int32_t channels = window->in_channels;
    const int32_t other = row + shape->down * window->stride_height;
    const int32_t column = shape->before - window->pad_left;
    const uint32_t below = (uint32_t)pads << AIDGE_ARMV7M_FIELD;
    int32_t count = shape->seconds + shape->both + shape->firsts;
    if ((row >= 0) && (row < window->in_height)) {
        const int8_t *value = image + (row * window->in_width + column) * channels;
        for (; count > 0; count--) {
            *words++ = (uint32_t)*value + below;
            value += channels;
        }
    } else if ((other >= 0) && (other < window->in_height)) {
        const int8_t *value = image + (other * window->in_width + column) * channels;
        for (; count > 0; count--) {
            *words++ = (uint32_t)pads + ((uint32_t)*value << AIDGE_ARMV7M_FIELD);
            value += channels;
        }
    } else {
        for (; count > 0; count--) {
            *words++ = (uint32_t)pads + below;
        }
    }
}

/* The sum of a pair of outputs, whose window begins at this word; the weights are bytes, or halfwords where there are `wide` ones. */
AIDGE_KIT_INLINE int64_t aidge_armv7m_pair_sum(const uint32_t *plane, const int8_t *weights, const int16_t *wide, int32_t pitch,
                                               const aidge_kit_window2d *window)
{
    int64_t sum = 0;
    int32_t row, column;
    for (row = 0; row < window->kernel_height; row++) {
        for (column = 0; column < window->kernel_width; column++) {
            const int32_t weight = wide != NULL ? *wide++ : *weights++;
            sum += (int64_t)(int32_t)plane[column * window->dilation_width] * weight;
        }
        plane += window->dilation_height * pitch;
    }
    return sum;
}

/* Rows of pairs of one channel, whatever is proved of it. */
AIDGE_KIT_INLINE void aidge_armv7m_pairs(const uint32_t *plane, const int8_t *weights, const int16_t *wide,
                                         const int32_t *numbers, int8_t *output, int32_t rows, const aidge_armv7m_deep *deep,
                                         int32_t shift, const aidge_armv7m_depthwise *shape, const aidge_kit_window2d *window,
                                         int32_t is_fine)
{
    int32_t row, column;
    for (row = 0; row < rows; row++) {
        for (column = 0; column < shape->columns; column++) {
            const int64_t sum
                = aidge_armv7m_pair_sum(plane + column * window->stride_width, weights, wide, shape->pitch, window);
            const int32_t first = aidge_armv7m_first_sum(sum);
            int8_t *const to = output + column * deep->stride;
            to[0] = aidge_armv7m_level(first, numbers, &deep->limits, shift, is_fine);
            to[deep->second] = aidge_armv7m_level((int32_t)((sum - first) / ((int64_t)1 << AIDGE_ARMV7M_FIELD)), numbers,
                                                  &deep->limits, shift, is_fine);
        }
        plane += window->stride_height * shape->pitch;
        output += window->out_width * deep->stride;
    }
}

AIDGE_KIT_NOINLINE void aidge_armv7m_pairs_of_rows(const uint32_t *plane, const int8_t *weights, const int32_t *numbers,
                                                   int8_t *output, int32_t rows, const aidge_armv7m_deep *deep, int32_t shift,
                                                   const aidge_armv7m_depthwise *shape, const aidge_kit_window2d *window)
{
    aidge_armv7m_pairs(plane, weights, 0, numbers, output, rows, deep, shift, shape, window, 0);
}

AIDGE_KIT_NOINLINE void aidge_armv7m_pairs_of_rows_fine(const uint32_t *plane, const int8_t *weights, const int32_t *numbers,
                                                        int8_t *output, int32_t rows, const aidge_armv7m_deep *deep,
                                                        int32_t shift, const aidge_armv7m_depthwise *shape,
                                                        const aidge_kit_window2d *window)
{
    aidge_armv7m_pairs(plane, weights, 0, numbers, output, rows, deep, shift, shape, window, 1);
}

/* With weights that are halfwords; without fractions, too. */
AIDGE_KIT_NOINLINE void aidge_armv7m_pairs_of_rows_wide(const uint32_t *plane, const int16_t *weights, const int32_t *numbers,
                                                        int8_t *output, int32_t rows, const aidge_armv7m_deep *deep,
                                                        int32_t shift, const aidge_armv7m_depthwise *shape,
                                                        const aidge_kit_window2d *window)
{
    aidge_armv7m_pairs(plane, 0, weights, numbers, output, rows, deep, shift, shape, window, 1);
}
