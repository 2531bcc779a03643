/* SPDX-License-Identifier: 0BSD */
#include "windows/depthwise.h"
#include "core/float32.h"

/* Of the data its scale, and its zero point times -1; of a group the channels that the group before has computed. */
typedef struct {
    float scale;
    int32_t minus_zero, computed;
} aidge_cortexm_dynamic_numbers;

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

/* The C version of the functions of this name: as aidge_cortexm_depthwise_gather, of uint8. */
AIDGE_CORTEXM_C void aidge_cortexm_depthwise_gather_unsigned(const int8_t *source, uint32_t *target, int32_t rows, uint32_t fill,
                                                             int32_t channels, int32_t width, int32_t pad, int32_t pairs)
{
    const uint32_t zero = fill & 0xFFu;
    for (; rows > 0; rows--) {
        int32_t channel, pair;
        for (channel = 0; channel < 4; channel++) {
            for (pair = 0; pair < pairs; pair++) {
                const int32_t x = 2 * pair - pad;
                const uint32_t low = (x >= 0) && (x < width) ? (uint8_t)source[x * channels + channel] : zero;
                const uint32_t high = (x + 1 >= 0) && (x + 1 < width) ? (uint8_t)source[(x + 1) * channels + channel] : zero;
                *target++ = low | (high << 16);
            }
        }
        source += width * channels;
    }
}

/* Where the C version finds things: sizes in words; `places` [kernel_height * kernel_width]: 2 * word + half of each weight. Of each
 * channel `head` words stand before its weights, and the next one's `step` words further. */
typedef struct {
    int32_t channels, out_width, kernel_height, kernel_width, stride_height, stride_width, dilation_height;
    int32_t row_words, pairs, step, head;
    const int16_t *places;
} aidge_cortexm_dynamic_geometry;

/* The weight at a place: a halfword. */
AIDGE_CORTEXM_C int32_t aidge_cortexm_depthwise_weight(const int32_t *weights, int32_t place)
{
    const uint32_t word = (uint32_t)weights[place / 2];
    return (place & 1) != 0 ? aidge_cortexm_high(word) : aidge_cortexm_low(word);
}

/* The C version of the functions of this name: output rows of 4 channels, of which each has the sum of its weights, a factor, a
 * bias, and its weights in the stream. */
AIDGE_CORTEXM_C void aidge_cortexm_dynamic_band(const uint32_t *words, float *output, const int32_t *constants, int32_t rows,
                                                const aidge_cortexm_dynamic_numbers *numbers,
                                                const aidge_cortexm_dynamic_geometry *geometry, float lowest, float highest)
{
    int32_t channel, y, x, ky, kx;
    constants += numbers->computed * geometry->step;
    for (channel = numbers->computed; channel < 4; channel++) {
        const float factor = numbers->scale * aidge_cortexm_real(constants[1]);
        for (y = 0; y < rows; y++) {
            for (x = 0; x < geometry->out_width; x++) {
                int32_t sum = numbers->minus_zero * constants[0];
                float value;
                for (ky = 0; ky < geometry->kernel_height; ky++) {
                    const int32_t in_row = y * geometry->stride_height + ky * geometry->dilation_height;
                    const uint32_t *row = words + in_row * geometry->row_words + channel * geometry->pairs;
                    for (kx = 0; kx < geometry->kernel_width; kx++) {
                        const int32_t at = x * geometry->stride_width + kx;
                        const int32_t place = geometry->places[ky * geometry->kernel_width + kx];
                        sum += aidge_cortexm_depthwise_weight(constants + geometry->head, place) *
                               ((at & 1) != 0 ? aidge_cortexm_high(row[at / 2]) : aidge_cortexm_low(row[at / 2]));
                    }
                }
                value = aidge_cortexm_kept((float)sum * factor) + aidge_cortexm_real(constants[2]);
                value = value < lowest ? lowest : value;
                output[(y * geometry->out_width + x) * geometry->channels + channel] = value > highest ? highest : value;
            }
        }
        constants += geometry->step;
    }
}
#endif
