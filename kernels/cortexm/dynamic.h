/* SPDX-License-Identifier: 0BSD */
#include "dynamic_bytes.h"
#include "kit/window2d.h"

/*
 * Layers of dynamic quantization: bytes less a zero point of run time, as int16 in the columns of two pixels; sums scaled to float.
 * `signs` has the highest bit of each byte where data are int8: without their signs, and 128 more, they are uint8.
 *
 * The stream holds for each group of 4 output channels the weights as in dense.h: for each pair of taps 2 words (packed) or 4.
 * The table holds for each group 4 factors (packed: of odd channels divided by 256) and 4 biases; the factors in `numbers`, in the same order, are still to be multiplied by
 * the scale of the data. A last group overlaps the one before where channels are no multiple of 4.
 */
typedef struct {
    int32_t groups, group_words, channels;
} aidge_cortexm_dynamic;

/* Taps of one pixel, a multiple of 4 channels in each: pairs (0, 2), (1, 3) of every 4 bytes to every other word of the column. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_dynamic_quads(uint32_t *column, const uint8_t *input, int32_t y, int32_t x,
                                                      uint32_t zeros, uint32_t signs, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t left = x * shape->stride_width - shape->pad_left;
    int32_t tap_y, tap_x, c;
    for (tap_y = 0; tap_y < shape->kernel_height; tap_y++) {
        const int32_t row = y * shape->stride_height - shape->pad_top + tap_y * shape->dilation_height;
        const int32_t inside = ((row >= 0) && (row < shape->in_height)) ? 1 : 0;
        for (tap_x = 0; tap_x < shape->kernel_width; tap_x++) {
            const int32_t at = left + tap_x * shape->dilation_width;
            if ((inside != 0) && (at >= 0) && (at < shape->in_width)) {
                const uint8_t *from = input + (row * shape->in_width + at) * channels;
                for (c = channels; c > 0; c -= 4) {
                    const uint32_t word = aidge_cortexm_load(from) ^ signs;
                    column[0] = aidge_cortexm_centred(word, zeros);
                    column[2] = aidge_cortexm_centred(word >> 8, zeros);
                    column += 4;
                    from += 4;
                }
            } else {
                for (c = channels; c > 0; c -= 4) {
                    column[0] = 0;
                    column[2] = 0;
                    column += 4;
                }
            }
        }
    }
}

/* A halfword of the column; what is above its 16 bits is lost. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_put_half(uint16_t *to, int32_t value)
{
    const uint16_t half = (uint16_t)((uint32_t)value & 0xFFFFu);
    (void)memcpy(to, &half, sizeof half);
}

/* Taps of one pixel, any number of channels: pairs of neighbours, in every other word; a last one alone gets a 0 beside it. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_dynamic_pairs(uint32_t *column, const uint8_t *input, int32_t y, int32_t x,
                                                      uint32_t zeros, uint32_t signs, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t zero = aidge_cortexm_low(zeros);
    const int32_t left = x * shape->stride_width - shape->pad_left;
    uint16_t *to = (uint16_t *)(void *)column;
    int32_t step = 1; /* to the second half of the word, or to the first one of the word after the next */
    int32_t tap_y, tap_x, c;
    for (tap_y = 0; tap_y < shape->kernel_height; tap_y++) {
        const int32_t row = y * shape->stride_height - shape->pad_top + tap_y * shape->dilation_height;
        const int32_t inside = ((row >= 0) && (row < shape->in_height)) ? 1 : 0;
        for (tap_x = 0; tap_x < shape->kernel_width; tap_x++) {
            const int32_t at = left + tap_x * shape->dilation_width;
            if ((inside != 0) && (at >= 0) && (at < shape->in_width)) {
                const uint8_t *from = input + (row * shape->in_width + at) * channels;
                for (c = channels; c > 0; c--) {
                    aidge_cortexm_put_half(to, (int32_t)(*from++ ^ (signs & 0x80u)) - zero);
                    to += step;
                    step ^= 2;
                }
            } else {
                for (c = channels; c > 0; c--) {
                    aidge_cortexm_put_half(to, 0);
                    to += step;
                    step ^= 2;
                }
            }
        }
    }
    if (step == 3) {
        aidge_cortexm_put_half(to, 0);
    }
}

#if !AIDGE_CORTEXM_FPU
/* The C version of the generated functions: all groups from `stream` to `end` for the two pixels of a column. */
AIDGE_CORTEXM_C void aidge_cortexm_dynamic_groups(const uint32_t *column, const int32_t *stream, const float *table, float *first,
                                         float *second, const int32_t *end, int32_t pairs, int32_t packed, float lowest,
                                         float highest)
{
    while (stream != end) {
        int32_t channel, pair;
        for (channel = 0; channel < 4; channel++) {
            uint32_t sums[2] = {0, 0};
            int32_t pixel;
            for (pair = 0; pair < pairs; pair++) {
                const int32_t *words = stream + (packed != 0 ? 2 * pair + channel / 2 : 4 * pair + channel);
                uint32_t w = (uint32_t)*words;
                if (packed != 0) {
                    const uint32_t even = aidge_cortexm_even_bytes(w);
                    w = channel % 2 == 0 ? even : aidge_cortexm_pair(
                        (aidge_cortexm_low(w) - aidge_cortexm_low(even)) / 256, (aidge_cortexm_high(w) - aidge_cortexm_high(even)) / 256);
                }
                for (pixel = 0; pixel < 2; pixel++) {
                    sums[pixel] = aidge_cortexm_dot(w, column[2 * pair + pixel], sums[pixel]);
                }
            }
            for (pixel = 0; pixel < 2; pixel++) {
                const int32_t sum = (int32_t)sums[pixel] * (packed != 0 && channel % 2 != 0 ? 256 : 1);
                const float scaled = aidge_cortexm_kept((float)sum * table[channel]) + table[4 + channel];
                const float raised = scaled < lowest ? lowest : scaled;
                (pixel == 0 ? first : second)[channel] = raised > highest ? highest : raised;
            }
        }
        stream += packed != 0 ? 2 * pairs : 4 * pairs;
        table += 8;
        first += 4;
        second += 4;
    }
}
#endif
