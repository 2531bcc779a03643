/* SPDX-License-Identifier: 0BSD */
#include "copies.h"

/* What a generated function for quads computes, quads.py. Steps in bytes. */
typedef struct {
    int32_t channels, in_width, out_width, left;
    int32_t kernel_height, kernel_width;
    int32_t stride_height, stride_width, dilation_width;
    int32_t outputs; /* rows of the output */
    int32_t bits;    /* by which sums are shifted before the bias is added */
    int32_t numbers; /* bytes of those of a channel */
    int32_t fixed;   /* rounding.py */
} aidge_helium_quads_shape;

/* The rows that a group of rows of the output sees. `absent`: bits line, line + 4, ... of those that hold the zero point; `below`:
 * rows from the window of the first row of the output to that of the second one, 0: there is no second one. */
typedef struct {
    const int8_t *lines[4];
    int32_t absent, below;
} aidge_helium_quads_rows;

/*
 * Rows some of which may lie outside; pointers to those are to the nearest one. Nothing is chosen by a condition here: GCC 12.2 makes
 * vectors of the lines, and of a choice that is known while compiling the predicate of all lanes.
 */
AIDGE_KIT_NOINLINE void aidge_helium_quads_see_edge(aidge_helium_quads_rows *rows, const int8_t *x, int32_t first,
                                                    int32_t in_height, int32_t lines, int32_t dilation, int32_t row_bytes)
{
    uint32_t absent = 0;
    int32_t line;
    for (line = 0; line < lines; line++) {
        const int32_t row = first + line * dilation;
        const int32_t below = row < 0 ? 0 : row;
        rows->lines[line] = x + (below < in_height ? below : in_height - 1) * row_bytes;
        absent |= (((uint32_t)row | (uint32_t)(in_height - 1 - row)) >> 31) * (0x1111u << line);
    }
    for (; line < 4; line++) {
        rows->lines[line] = rows->lines[0];
    }
    rows->absent = (int32_t)absent;
}

/* Row `first` of the input (maybe negative) and those below it, `lines` in all. */
AIDGE_KIT_INLINE void aidge_helium_quads_see(aidge_helium_quads_rows *rows, const int8_t *x, int32_t first, int32_t in_height,
                                             int32_t lines, int32_t dilation, int32_t row_bytes)
{
    if ((first >= 0) && (first + (lines - 1) * dilation < in_height)) {
        const int8_t *row = x + first * row_bytes;
        int32_t line;
        for (line = 0; line < lines; line++) {
            rows->lines[line] = row;
            row += dilation * row_bytes;
        }
        for (; line < 4; line++) {
            rows->lines[line] = rows->lines[0];
        }
        rows->absent = 0;
    } else {
        aidge_helium_quads_see_edge(rows, x, first, in_height, lines, dilation, row_bytes);
    }
}

#if !AIDGE_HELIUM_ASSEMBLY
/*
 * Depthwise convolution of one or two rows of the output, [width][channels].
 *
 * stream: int32 {input zero point, zero point or the number of rounding.py, lowest, highest}; for each channel
 *   int32 bias, float multiplier, perhaps a third number as in planes.h; 4 bytes; for each channel 16 bytes, columns of four taps.
 * Ranges: the generator has proved that no sum leaves int32; partial sums may wrap around.
 */
static void aidge_helium_quads(const aidge_helium_quads_rows *rows, int8_t *y, const int8_t *stream,
                               const aidge_helium_quads_shape *shape)
{
    const int32_t channels = shape->channels;
    const int32_t outputs = rows->below != 0 ? shape->outputs : 1;
    int32_t out_y, out_x, channel, row, tap;
    aidge_kit_levels levels;
    levels.zero_point = (int16_t)(aidge_helium_word(stream + 4) & 0xFFFF);
    levels.lowest = aidge_helium_word(stream + 8) - levels.zero_point;
    levels.highest = aidge_helium_word(stream + 12) - levels.zero_point;
    for (channel = 0; channel < channels; channel++) {
        const int8_t *numbers = stream + 16 + shape->numbers * channel;
        const int8_t *window = stream + 16 + shape->numbers * channels + 4 + 16 * channel;
        for (out_y = 0; out_y < outputs; out_y++) {
            for (out_x = 0; out_x < shape->out_width; out_x++) {
                uint32_t sum = 0;
                for (row = 0; row < shape->kernel_height; row++) {
                    const int32_t line = out_y * shape->stride_height + row;
                    for (tap = 0; tap < shape->kernel_width; tap++) {
                        const int32_t column = out_x * shape->stride_width + tap * shape->dilation_width - shape->left;
                        const int is_there =
                            ((((rows->absent >> line) & 1) == 0) && (column >= 0) && (column < shape->in_width)) ? 1 : 0;
                        const int32_t value =
                            is_there ? rows->lines[line][column * channels + channel] : aidge_helium_word(stream);
                        sum += (uint32_t)(value * window[4 * tap + row]);
                    }
                }
                sum = (sum << shape->bits) + (uint32_t)aidge_helium_word(numbers);
                y[(out_y * shape->out_width + out_x) * channels + channel] =
                    shape->fixed != 0
                        ? aidge_helium_fixed((int32_t)sum, aidge_helium_word(numbers + 4), aidge_helium_word(numbers + 8) >> 16,
                                             shape->fixed, levels)
                    : aidge_helium_word(numbers + 4) < 0
                        ? aidge_helium_fused(sum, aidge_helium_word(numbers + 4), aidge_helium_word(numbers + 8) & 0xFFFF,
                                             levels.lowest + levels.zero_point, levels.highest + levels.zero_point)
                        : aidge_kit_requantize((int32_t)sum, aidge_helium_float(numbers + 4), levels);
            }
        }
    }
}
#endif
