/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* Maps of `pixels` positions, channels last. */
typedef struct {
    int32_t batches, pixels, channels;
} aidge_ref_maps;

/*
 * The mean of each channel of a map as a real number: (sum of stored values + start) * factor.
 * The sum of integers is exact.
 */
static void aidge_ref_mean_int8(const int8_t *input, float *output, const int32_t *start, const float *factor,
                                const aidge_ref_maps *maps)
{
    int32_t batch, channel;
    for (batch = 0; batch < maps->batches; batch++) {
        for (channel = 0; channel < maps->channels; channel++) {
            const int8_t *from = input + channel;
            int32_t sum = *start;
            int32_t left = maps->pixels;
            for (; left >= 4; left -= 4) {
                sum += *from;
                from += maps->channels;
                sum += *from;
                from += maps->channels;
                sum += *from;
                from += maps->channels;
                sum += *from;
                from += maps->channels;
            }
            for (; left > 0; left--) {
                sum += *from;
                from += maps->channels;
            }
            *output++ = (float)sum * *factor;
        }
        input += maps->pixels * maps->channels;
    }
}
