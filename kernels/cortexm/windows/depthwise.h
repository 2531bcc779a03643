/* SPDX-License-Identifier: 0BSD */
#include "core/blocks.h"
#include "sums/dense.h"

/* A depthwise convolution, 4 channels at a time, through a buffer of rows: [row][4 channels][pairs of pixels] as int16. */
typedef struct {
    int32_t batches, in_height, in_width, channels, out_height, out_width;
    int32_t stride_height, pad_top, extent;  /* input rows that one output row sees */
    int32_t row_words;
    int32_t band;                            /* output rows that are computed from one buffer */
    int32_t group_words, stream_words;
} aidge_cortexm_depthwise;

/* What of a band must be gathered: `count` input rows from byte `source` on, to `target`. */
typedef struct {
    uint32_t *target;
    int32_t source, count;
} aidge_cortexm_band;

static void aidge_cortexm_pads(uint32_t *target, uint32_t fill, int32_t count)
{
    for (; count > 0; count--) {
        *target++ = fill;
    }
}

/* Before the band at output row y: rows of the band before it that it sees move up. */
AIDGE_CORTEXM_UNUSED /* layers of one band keep none */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_keep_rows(const aidge_cortexm_depthwise *shape, uint32_t *words, int32_t y)
{
    const int32_t overlap = shape->extent - shape->stride_height;
    if ((y > 0) && (overlap > 0)) {
        aidge_cortexm_move_words(words, words + shape->band * shape->stride_height * shape->row_words, overlap * shape->row_words);
    }
}

/* Prepare the buffer for output rows y..y + lines - 1, of which rows of the band before are there already: rows outside the image
 * are filled. Not inlined: at -O3 it has much on the stack, while the assembly saves all registers there. */
AIDGE_CORTEXM_NOINLINE aidge_cortexm_band aidge_cortexm_band_of(const aidge_cortexm_depthwise *shape, uint32_t *words,
                                                                uint32_t fill, int32_t y, int32_t lines)
{
    const int32_t top = y * shape->stride_height - shape->pad_top;
    const int32_t end = top + (lines - 1) * shape->stride_height + shape->extent;
    const int32_t overlap = shape->extent - shape->stride_height;
    const int32_t kept = (y > 0) && (overlap > 0) ? overlap : 0;
    aidge_cortexm_band band;
    int32_t first = top + kept;
    int32_t last = end < shape->in_height ? end : shape->in_height;
    if (first < 0) {
        const int32_t above = (end < 0 ? end : 0) - first;
        aidge_cortexm_pads(words + (first - top) * shape->row_words, fill, above * shape->row_words);
        first += above;
    }
    last = last > first ? last : first;
    band.target = words + (first - top) * shape->row_words;
    band.source = first * shape->in_width * shape->channels;
    band.count = last - first;
    aidge_cortexm_pads(words + (last - top) * shape->row_words, fill, (end - last) * shape->row_words);
    return band;
}

#if !AIDGE_CORTEXM_FPU
/* Rows of 4 channels into the buffer, whose rows hold `pairs` pairs of pixels per channel: the C version of the functions of
 * this name. */
AIDGE_CORTEXM_C void aidge_cortexm_depthwise_gather(const int8_t *source, uint32_t *target, int32_t rows, uint32_t fill,
                                                    int32_t channels, int32_t width, int32_t pad, int32_t pairs)
{
    const int32_t zero = aidge_cortexm_low(aidge_cortexm_even_bytes(fill));
    for (; rows > 0; rows--) {
        int32_t channel, pair;
        for (channel = 0; channel < 4; channel++) {
            for (pair = 0; pair < pairs; pair++) {
                const int32_t x = 2 * pair - pad;
                const int32_t low = (x >= 0) && (x < width) ? source[x * channels + channel] : zero;
                const int32_t high = (x + 1 >= 0) && (x + 1 < width) ? source[(x + 1) * channels + channel] : zero;
                *target++ = aidge_cortexm_pair(low, high);
            }
        }
        source += width * channels;
    }
}

/* Where the C version finds things: sizes in words; `places` [kernel_height * kernel_width]: 2 * word + half of each weight. Where
 * weights are bytes, `scale` is theirs in channels that are not proved, else it is 0. Of each channel `head` words stand before its
 * weights, and the next one's `step` words further (where weights are bytes, all stand in order behind those of 4 channels):
 * bias and multiplier; 3 where a function follows, whose scale is two words (aidge_cortexm_curved); 4 where what is not proved
 * has a fixed-point factor, whose constant and shift follow. Weights and bias of such channels are `doubled`, or not. */
typedef struct {
    int32_t channels, out_width, kernel_height, kernel_width, stride_height, stride_width, dilation_height;
    int32_t row_words, pairs, step, scale, head, doubled;
    int32_t curve; /* words from the head to the middle of those of a function, or 0 */
    const int16_t *places;
} aidge_cortexm_depthwise_geometry;

/* The weight at a place: a halfword. */
AIDGE_CORTEXM_C int32_t aidge_cortexm_depthwise_weight(const int32_t *weights, int32_t place)
{
    const uint32_t word = (uint32_t)weights[place / 2];
    return (place & 1) != 0 ? aidge_cortexm_high(word) : aidge_cortexm_low(word);
}

/* One of weights that are bytes in order. */
AIDGE_CORTEXM_C int32_t aidge_cortexm_depthwise_byte(const int32_t *weights, int32_t tap)
{
    const int32_t weight = (int32_t)(((uint32_t)weights[tap / 4] >> (8 * (tap & 3))) & 0xFF);
    return weight - 2 * (weight & 0x80);
}

/* The stored value of one sum by the fixed-point factor at `fixed`, whose multiplier has the highest bit set; head of the stream. */
AIDGE_CORTEXM_C int8_t aidge_cortexm_depthwise_fixed(int32_t sum, const int32_t *fixed, const int32_t *head)
{
    const int32_t factor[3] = {fixed[0] & 0x7FFFFFFF, fixed[1] + (int32_t)(128u << fixed[2]), fixed[2]};
    return aidge_cortexm_fixed(sum, factor, 0, head);
}

/* The stored value of one sum of which an integer form is proved: without a factor it is divided by a power of two, halves to even. */
AIDGE_CORTEXM_C int8_t aidge_cortexm_depthwise_proved(int32_t sum, int32_t factor, int32_t shift, const int32_t *head)
{
    const int32_t level = (sum + ((sum >> shift) & 1)) >> shift;
    const int8_t even = (int8_t)aidge_cortexm_clamp(level, -128, 127);
    return aidge_cortexm_limited(factor != 0 ? aidge_cortexm_proved(sum, factor, 0, shift) : even, head);
}

/* Output rows of 4 channels; is_curved: with a function, whose floats no other layer's code holds. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_depthwise_rows(const uint32_t *words, int8_t *output, const int32_t *constants,
                                                       int32_t rows, const int32_t *head,
                                                       const aidge_cortexm_depthwise_geometry *geometry, int32_t shift,
                                                       int32_t is_curved)
{
    const int32_t taps = geometry->kernel_height * geometry->kernel_width;
    const int32_t *const bytes = constants + 4 * geometry->step;
    int32_t channel, y, x, ky, kx;
    for (channel = 0; channel < 4; channel++) {
        const int32_t form = ((constants[1] >= 0) && (is_curved == 0)) ? 1 : 0;
        const int32_t factor = constants[1] & 0x7FFFFFFF;
        const int32_t scale = (geometry->scale != 0) && (form != 0) ? 256 : geometry->scale;
        for (y = 0; y < rows; y++) {
            for (x = 0; x < geometry->out_width; x++) {
                uint32_t sum = (uint32_t)constants[0];
                for (ky = 0; ky < geometry->kernel_height; ky++) {
                    const int32_t in_row = y * geometry->stride_height + ky * geometry->dilation_height;
                    const uint32_t *row = words + in_row * geometry->row_words + channel * geometry->pairs;
                    for (kx = 0; kx < geometry->kernel_width; kx++) {
                        const int32_t at = x * geometry->stride_width + kx;
                        const int32_t tap = ky * geometry->kernel_width + kx;
                        const int32_t weight =
                            scale == 0 ? aidge_cortexm_depthwise_weight(constants + geometry->head, geometry->places[tap])
                                       : scale * aidge_cortexm_depthwise_byte(bytes, channel * taps + tap);
                        const int32_t value = (at & 1) != 0 ? aidge_cortexm_high(row[at / 2]) : aidge_cortexm_low(row[at / 2]);
                        sum += (uint32_t)(weight * value);
                    }
                }
                output[(y * geometry->out_width + x) * geometry->channels + channel] =
                    is_curved != 0
                        ? aidge_cortexm_curved((int32_t)sum, constants[1], constants[2], head, head + geometry->curve, shift)
                    : form != 0 ? aidge_cortexm_depthwise_proved((int32_t)sum, factor, shift + 8, head)
                    : geometry->head > 2
                        ? aidge_cortexm_depthwise_fixed((int32_t)sum >> geometry->doubled, constants + 1, head)
                        : aidge_cortexm_rounded((int32_t)sum, factor, head);
            }
        }
        constants += geometry->step;
    }
}

/* The C versions of the functions of this name. */
AIDGE_CORTEXM_C void aidge_cortexm_depthwise_band(const uint32_t *words, int8_t *output, const int32_t *constants, int32_t rows,
                                                  const int32_t *head, const aidge_cortexm_depthwise_geometry *geometry,
                                                  int32_t shift)
{
    aidge_cortexm_depthwise_rows(words, output, constants, rows, head, geometry, shift, 0);
}

AIDGE_CORTEXM_C void aidge_cortexm_depthwise_band_curved(const uint32_t *words, int8_t *output, const int32_t *constants,
                                                         int32_t rows, const int32_t *head,
                                                         const aidge_cortexm_depthwise_geometry *geometry, int32_t shift)
{
    aidge_cortexm_depthwise_rows(words, output, constants, rows, head, geometry, shift, 1);
}

#endif
