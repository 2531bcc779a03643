/* SPDX-License-Identifier: 0BSD */
#include "conv2d_int8_pixel.h"

/*
 * Sums of three pixels share two words. With pixels a, b, c the words of a tap are X = a + 2^21 b and Y = c + 2^11 b: two
 * products and two additions, both modulo 2^32, are three multiply-accumulates. Sums of so many taps as `together` says have 21
 * bits.
 */

/* Sums of X and Y for 4 output channels. */
typedef struct {
    uint32_t x[4], y[4];
} aidge_ref_words;

/* The bits of a number, of which sums and products are modulo 2^32. */
AIDGE_KIT_INLINE uint32_t aidge_ref_bits(int32_t number)
{
    return (uint32_t)number;
}

AIDGE_KIT_INLINE void aidge_ref_tap_of_three_int8(aidge_ref_words *words, int32_t a, int32_t b, int32_t c, const int8_t *w)
{
    const uint32_t middle = aidge_ref_bits(b) << 11;
    const uint32_t x = (middle << 10) + aidge_ref_bits(a);
    const uint32_t y = middle + aidge_ref_bits(c);
    words->x[0] += x * aidge_ref_bits(w[0]);
    words->y[0] += y * aidge_ref_bits(w[0]);
    words->x[1] += x * aidge_ref_bits(w[1]);
    words->y[1] += y * aidge_ref_bits(w[1]);
    words->x[2] += x * aidge_ref_bits(w[2]);
    words->y[2] += y * aidge_ref_bits(w[2]);
    words->x[3] += x * aidge_ref_bits(w[3]);
    words->y[3] += y * aidge_ref_bits(w[3]);
}

/* Adds the three sums of each channel, which are in two words: sums[4 * pixel + channel]. */
AIDGE_KIT_NOINLINE void aidge_ref_separate_int8(const aidge_ref_words *words, int32_t *sums)
{
    int32_t channel;
    for (channel = 0; channel < 4; channel++) {
        const uint32_t x = words->x[channel];
        const int32_t a = (int32_t)(x << 11) >> 11;
        const uint32_t low = (x - aidge_ref_bits(a)) >> 21; /* bits of the sum of b */
        const uint32_t rest = words->y[channel] - (low << 11);
        const int32_t c = (int32_t)(rest << 10) >> 10;
        sums[channel] += a;
        sums[4 + channel] += (int32_t)low + ((int32_t)(rest - aidge_ref_bits(c)) >> 11);
        sums[8 + channel] += c;
    }
}

/* Adds the products of a piece of three pixels, whose windows are inside the image, with the weights of 4 output channels. */
AIDGE_KIT_INLINE void aidge_ref_three_pixels_int8(const aidge_ref_piece_int8 *piece, const int8_t *w, int32_t *sums)
{
    const int8_t *a = piece->source;
    const int8_t *b = a + piece->second;
    const int8_t *c = b + piece->second;
    const aidge_ref_words none = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    aidge_ref_words words = none;
    aidge_ref_words kept;
    int32_t room = piece->together;
    int32_t row, run;
    for (row = piece->rows; row > 0; row--) {
        for (run = piece->runs; run > 0; run--) {
            int32_t left = piece->length;
            while (left > 0) {
                const int32_t count = left < room ? left : room;
                const int8_t *const end = a + count;
                if ((count & 1) != 0) {
                    aidge_ref_tap_of_three_int8(&words, *a, *b, *c, w);
                    a++;
                    b++;
                    c++;
                    w += 4;
                }
                while (a != end) {
                    aidge_ref_tap_of_three_int8(&words, a[0], b[0], c[0], w);
                    aidge_ref_tap_of_three_int8(&words, a[1], b[1], c[1], w + 4);
                    a += 2;
                    b += 2;
                    c += 2;
                    w += 8;
                }
                left -= count;
                room -= count;
                if (room == 0) {
                    kept = words;
                    aidge_ref_separate_int8(&kept, sums);
                    words = none;
                    room = piece->together;
                }
            }
            a += piece->run_step - piece->length;
            b += piece->run_step - piece->length;
            c += piece->run_step - piece->length;
        }
        a += piece->row_skip;
        b += piece->row_skip;
        c += piece->row_skip;
        w += 4 * piece->weight_skip;
    }
    kept = words;
    aidge_ref_separate_int8(&kept, sums);
}

/* Whole groups of 4 output channels of three pixels; `step` is from one pixel of the output to the next. */
AIDGE_KIT_INLINE void aidge_ref_three_int8(const aidge_ref_piece_int8 *piece, int8_t *output, int32_t step, const int32_t *levels,
                                           int32_t multiplier_step, int32_t form)
{
    const aidge_kit_levels bounds = aidge_kit_load_levels(levels + 1);
    const int8_t *weights = piece->weights;
    const int32_t *bias = piece->bias;
    const float *multiplier = piece->numbers;
    int32_t channel, place;
    for (channel = piece->outputs; channel >= 4; channel -= 4) {
        int32_t sums[12];
        aidge_ref_copy4(sums, bias);
        aidge_ref_copy4(sums + 4, bias);
        aidge_ref_copy4(sums + 8, bias);
        aidge_ref_three_pixels_int8(piece, weights, sums);
        for (place = 0; place < 4; place++) {
            if (form == AIDGE_REF_FIXED) {
                const int32_t *factors = (const int32_t *)(const void *)multiplier;
                output[0] = aidge_kit_stored(aidge_ref_scale_fixed(sums[place], factors), bounds);
                output[step] = aidge_kit_stored(aidge_ref_scale_fixed(sums[4 + place], factors), bounds);
                output[2 * step] = aidge_kit_stored(aidge_ref_scale_fixed(sums[8 + place], factors), bounds);
            } else {
                const float factor = *multiplier; /* once: a store of bytes could change it */
                output[0] = aidge_kit_stored(aidge_kit_scale_marked(sums[place], factor), bounds);
                output[step] = aidge_kit_stored(aidge_kit_scale_marked(sums[4 + place], factor), bounds);
                output[2 * step] = aidge_kit_stored(aidge_kit_scale_marked(sums[8 + place], factor), bounds);
            }
            multiplier += multiplier_step;
            output++;
        }
        bias += 4;
        weights += 4 * piece->taps;
    }
}

/* With floats for kit/near.h, and with fixed factors. */
AIDGE_KIT_NOINLINE void aidge_ref_three_int8_near(const aidge_ref_piece_int8 *piece, int8_t *output, int32_t step,
                                                  const int32_t *levels, int32_t multiplier_step)
{
    aidge_ref_three_int8(piece, output, step, levels, multiplier_step, AIDGE_REF_NEAR);
}

AIDGE_KIT_NOINLINE void aidge_ref_three_int8_fixed(const aidge_ref_piece_int8 *piece, int8_t *output, int32_t step,
                                                   const int32_t *levels, int32_t multiplier_step)
{
    aidge_ref_three_int8(piece, output, step, levels, multiplier_step, AIDGE_REF_FIXED);
}

AIDGE_KIT_NOINLINE void aidge_ref_one_int8_near(const aidge_ref_piece_int8 *piece, int8_t *output, const int32_t *levels,
                                                int32_t multiplier_step)
{
    aidge_ref_conv2d_int8_channels(piece, output, levels, multiplier_step, 0, AIDGE_REF_NEAR);
}

AIDGE_KIT_NOINLINE void aidge_ref_one_int8_fixed(const aidge_ref_piece_int8 *piece, int8_t *output, const int32_t *levels,
                                                 int32_t multiplier_step)
{
    aidge_ref_conv2d_int8_channels(piece, output, levels, multiplier_step, 0, AIDGE_REF_FIXED);
}

/* The piece without its first output channels. */
AIDGE_KIT_INLINE void aidge_ref_leave_outputs_int8(aidge_ref_piece_int8 *piece, int32_t outputs, int32_t multiplier_step)
{
    piece->weights += outputs * piece->taps;
    piece->bias += outputs;
    piece->numbers += outputs * multiplier_step;
    piece->outputs -= outputs;
}

/* All output channels of the pixels of a piece: three pixels together, or one, and channels that are no group of 4 one by one. */
AIDGE_KIT_INLINE void aidge_ref_pixels_int8(aidge_ref_piece_int8 *piece, int8_t *output, int32_t step, const int32_t *levels,
                                            int32_t multiplier_step, int32_t form)
{
    const int32_t whole = AIDGE_REF_HAS_BLOCKS && (piece->pixels == 3) ? piece->outputs & ~3 : 0;
    const int32_t back = piece->pixels * piece->second;
    int32_t pixel;
    if (whole != 0) {
        if (form == AIDGE_REF_FIXED) {
            aidge_ref_three_int8_fixed(piece, output, step, levels, multiplier_step);
        } else {
            aidge_ref_three_int8_near(piece, output, step, levels, multiplier_step);
        }
    }
    if (whole != piece->outputs) {
        aidge_ref_leave_outputs_int8(piece, whole, multiplier_step);
        for (pixel = 0; pixel < piece->pixels; pixel++) {
            if (form == AIDGE_REF_FIXED) {
                aidge_ref_one_int8_fixed(piece, output + whole, levels, multiplier_step);
            } else {
                aidge_ref_one_int8_near(piece, output + whole, levels, multiplier_step);
            }
            piece->source += piece->second;
            output += step;
        }
        piece->source -= back;
        aidge_ref_leave_outputs_int8(piece, -whole, multiplier_step);
    }
}
