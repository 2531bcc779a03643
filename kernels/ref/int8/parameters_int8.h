/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"

/*
 * Bias and multiplier of an output channel, counted from the first of its group of 4. If they are `joined`, 6 words of each group
 * hold both: of each channel 28 bits of its multiplier's pattern, which is AIDGE_REF_JOINED_BASE more, above the low 4 bits of
 * its bias; then of each two channels the upper 16 bits of their biases. The last group is whole.
 */
#define AIDGE_REF_JOINED_BASE 0x30000000u

AIDGE_KIT_INLINE int32_t aidge_ref_bias(const int32_t *bias, int32_t channel, int32_t joined)
{
    int32_t high;
    if (joined == 0) {
        return bias[channel];
    }
    high = bias[4 + (channel >> 1)];
    high = (channel & 1) != 0 ? high >> 16 : (int16_t)(uint16_t)((uint32_t)high & 0xFFFFu);
    return high * 16 + (int32_t)((uint32_t)bias[channel] & 15u);
}

/* multiplier_step is 0 if one multiplier is that of all channels. */
AIDGE_KIT_INLINE float aidge_ref_multiplier(const int32_t *bias, const float *multipliers, int32_t channel,
                                            int32_t multiplier_step, int32_t joined)
{
    float multiplier;
    if (joined == 0) {
        multiplier = multipliers[channel * multiplier_step];
    } else {
        const uint32_t bits = ((uint32_t)bias[channel] >> 4) + AIDGE_REF_JOINED_BASE;
        (void)memcpy(&multiplier, &bits, sizeof multiplier);
    }
    return multiplier;
}

/* Words of the biases of so many channels, whole groups if they are joined. */
AIDGE_KIT_INLINE int32_t aidge_ref_bias_words(int32_t channels, int32_t joined)
{
    return joined == 0 ? channels : channels + (channels >> 1);
}
