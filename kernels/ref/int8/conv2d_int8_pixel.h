/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "dot_int8.h"
#include "parameters_int8.h"
#include "kit/inline.h"
#include "kit/requantize.h"
#include "piece_int8.h"

/* sums[j] += the sum over the piece for 4 output channels j; zero_point is a literal 0 where it can be. */
AIDGE_KIT_INLINE void aidge_ref_piece4_int8(const aidge_ref_piece_int8 *piece, const int8_t *w, int32_t *sums,
                                            int32_t zero_point, int32_t wide)
{
    const int8_t *x = piece->source;
    int32_t row, run;
    for (row = piece->rows; row > 0; row--) {
        for (run = piece->runs; run > 0; run--) {
            aidge_ref_dot4_int8(x, w, piece->length, zero_point, wide, sums);
            x += piece->run_step;
            w += (4 * piece->length) << wide;
        }
        x += piece->row_skip;
        w += (4 * piece->weight_skip) << wide;
    }
}

/* The same for one output channel. */
AIDGE_KIT_INLINE int32_t aidge_ref_piece1_int8(const aidge_ref_piece_int8 *piece, const int8_t *w, int32_t wide)
{
    const int8_t *x = piece->source;
    int32_t sum = 0;
    int32_t row, run;
    for (row = piece->rows; row > 0; row--) {
        for (run = piece->runs; run > 0; run--) {
            sum += aidge_ref_dot_int8(x, w, piece->length, piece->zero_point, wide);
            x += piece->run_step;
            w += piece->length << wide;
        }
        x += piece->row_skip;
        w += piece->weight_skip << wide;
    }
    return sum;
}

/* The same with the zero point of the piece. Out of line: it needs many registers. */
AIDGE_KIT_NOINLINE void aidge_ref_one_pixel_int8(const aidge_ref_piece_int8 *piece, const int8_t *w, int32_t *sums)
{
    if (piece->zero_point != 0) {
        aidge_ref_piece4_int8(piece, w, sums, piece->zero_point, 0);
    } else {
        aidge_ref_piece4_int8(piece, w, sums, 0, 0);
    }
}

AIDGE_KIT_NOINLINE void aidge_ref_one_pixel_int8_wide(const aidge_ref_piece_int8 *piece, const int8_t *w, int32_t *sums)
{
    aidge_ref_piece4_int8(piece, w, sums, piece->zero_point, 1);
}

/* Goes to the next piece and finds its parameters; the bias of a complete piece holds the zero point's part, if there is such a
 * bias. */
AIDGE_KIT_INLINE void aidge_ref_conv2d_int8_next(aidge_ref_piece_int8 *piece, const int8_t *weights, const int32_t *bias,
                                                 const float *multipliers, int32_t multiplier_step, const int32_t *levels,
                                                 const aidge_kit_window2d *shape, int32_t wide, int32_t form)
{
    aidge_ref_piece_next(piece, shape);
    piece->weights = weights + ((piece->first_output * piece->taps) << wide);
    piece->bias = bias + aidge_ref_bias_words(piece->first_output, form) + (piece->complete != 0 ? levels[4] : 0);
    piece->numbers = form == AIDGE_REF_JOINED ? multipliers : multipliers + piece->first_output * multiplier_step;
    piece->zero_point = (piece->complete != 0) && (levels[4] != 0) ? 0 : levels[0];
}

/* The output channels of a piece. */
AIDGE_KIT_INLINE void aidge_ref_conv2d_int8_channels(const aidge_ref_piece_int8 *piece, int8_t *output, const int32_t *levels,
                                                     int32_t multiplier_step, int32_t wide, int32_t form)
{
    const int8_t *weights = piece->weights;
    const int32_t *bias = piece->bias;
    const float *multiplier = piece->numbers;
    int32_t channel, rest;
    for (channel = piece->outputs; channel >= 4; channel -= 4) {
        const int8_t *const first = weights + ((4 * piece->first_tap) << wide);
        int32_t sums[4];
        sums[0] = aidge_ref_bias(bias, 0, form);
        sums[1] = aidge_ref_bias(bias, 1, form);
        sums[2] = aidge_ref_bias(bias, 2, form);
        sums[3] = aidge_ref_bias(bias, 3, form);
        if (wide != 0) {
            aidge_ref_one_pixel_int8_wide(piece, first, sums);
        } else {
            aidge_ref_one_pixel_int8(piece, first, sums);
        }
        aidge_ref_store4(sums, output, bias, multiplier, multiplier_step, aidge_kit_load_levels(levels + 1), form);
        output += 4;
        bias += aidge_ref_bias_words(4, form);
        multiplier += 4 * multiplier_step;
        weights += (4 * piece->taps) << wide;
    }
    for (rest = 0; rest < channel; rest++) {
        const int32_t sum = aidge_ref_bias(bias, rest, form)
                            + aidge_ref_piece1_int8(piece, weights + (piece->first_tap << wide), wide);
        *output++ = aidge_ref_stored(sum, bias, multiplier, rest, multiplier_step, aidge_kit_load_levels(levels + 1), form);
        weights += piece->taps << wide;
    }
}

AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_pixel(const aidge_ref_piece_int8 *piece, int8_t *output, const int32_t *levels,
                                                    int32_t multiplier_step)
{
    aidge_ref_conv2d_int8_channels(piece, output, levels, multiplier_step, 0, AIDGE_REF_FLOATS);
}

/* The same with int16 weights. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_pixel_wide(const aidge_ref_piece_int8 *piece, int8_t *output,
                                                         const int32_t *levels, int32_t multiplier_step)
{
    aidge_ref_conv2d_int8_channels(piece, output, levels, multiplier_step, 1, AIDGE_REF_FLOATS);
}

/* The same with int8 weights, and biases and multipliers joined. */
AIDGE_KIT_NOINLINE void aidge_ref_conv2d_int8_pixel_joined(const aidge_ref_piece_int8 *piece, int8_t *output,
                                                           const int32_t *levels)
{
    aidge_ref_conv2d_int8_channels(piece, output, levels, 0, 0, AIDGE_REF_JOINED);
}
