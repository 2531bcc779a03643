/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/fixed.h"
#include "kit/inline.h"
#include "kit/near.h"
#include "kit/requantize.h"

/* The forms of the factors of output channels: floats, such joined with biases, of kit/fixed.h, or floats for kit/near.h. */
#define AIDGE_REF_FLOATS 0
#define AIDGE_REF_JOINED 1
#define AIDGE_REF_FIXED 2
#define AIDGE_REF_NEAR 3

/* Whether pixels are computed together in the forms FIXED and NEAR: these need more registers than ARMv6-M has. */
#define AIDGE_REF_HAS_BLOCKS (AIDGE_KIT_NARROW == 0)

/*
 * Bias and multiplier of an output channel, counted from the first of its group of 4. If they are `joined`, 6 words of each group
 * hold both: of each channel 28 bits of its multiplier's pattern, which is AIDGE_REF_JOINED_BASE more, above the low 4 bits of
 * its bias; then of each two channels the upper 16 bits of their biases. The last group is whole.
 */
#define AIDGE_REF_JOINED_BASE 0x30000000u

AIDGE_KIT_INLINE int32_t aidge_ref_bias(const int32_t *bias, int32_t channel, int32_t form)
{
    int32_t high;
    if (form != AIDGE_REF_JOINED) {
        return bias[channel];
    }
    high = bias[4 + (channel >> 1)];
    high = (channel & 1) != 0 ? high >> 16 : (int16_t)(uint16_t)((uint32_t)high & 0xFFFFu);
    return high * 16 + (int32_t)((uint32_t)bias[channel] & 15u);
}

/* multiplier_step is 0 if one multiplier is that of all channels. */
AIDGE_KIT_INLINE float aidge_ref_multiplier(const int32_t *bias, const float *multipliers, int32_t channel,
                                            int32_t multiplier_step, int32_t form)
{
    float multiplier;
    if (form != AIDGE_REF_JOINED) {
        multiplier = multipliers[channel * multiplier_step];
    } else {
        const uint32_t bits = ((uint32_t)bias[channel] >> 4) + AIDGE_REF_JOINED_BASE;
        (void)memcpy(&multiplier, &bits, sizeof multiplier);
    }
    return multiplier;
}

/* A sum times the factor of kit/fixed.h, saturated to int32. Out of line: it needs many registers. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_scale_fixed(int32_t sum, const int32_t *factor)
{
    return aidge_kit_level_fixed(sum, factor, INT32_MIN, INT32_MAX);
}

/* The stored value of a sum; of fixed factors multiplier_step is 2, or 0. */
AIDGE_KIT_INLINE int8_t aidge_ref_stored(int32_t sum, const int32_t *bias, const float *multipliers, int32_t channel,
                                         int32_t multiplier_step, aidge_kit_levels levels, int32_t form)
{
    if (form == AIDGE_REF_FIXED) {
        const int32_t *factors = (const int32_t *)(const void *)multipliers;
        return aidge_kit_stored(aidge_ref_scale_fixed(sum, factors + channel * multiplier_step), levels);
    }
    if (form == AIDGE_REF_NEAR) {
        return aidge_kit_stored(aidge_kit_scale_marked(sum, multipliers[channel * multiplier_step]), levels);
    }
    return aidge_kit_requantize(sum, aidge_ref_multiplier(bias, multipliers, channel, multiplier_step, form), levels);
}

/* The stored values of the sums of a group of 4 output channels, in a loop where the code of one is long. */
AIDGE_KIT_INLINE void aidge_ref_store4(const int32_t *sums, int8_t *output, const int32_t *bias, const float *multipliers,
                                       int32_t multiplier_step, aidge_kit_levels levels, int32_t form)
{
    if (form == AIDGE_REF_NEAR) {
        int32_t channel;
        for (channel = 0; channel < 4; channel++) {
            output[channel] = aidge_ref_stored(sums[channel], bias, multipliers, channel, multiplier_step, levels, form);
        }
    } else {
        output[0] = aidge_ref_stored(sums[0], bias, multipliers, 0, multiplier_step, levels, form);
        output[1] = aidge_ref_stored(sums[1], bias, multipliers, 1, multiplier_step, levels, form);
        output[2] = aidge_ref_stored(sums[2], bias, multipliers, 2, multiplier_step, levels, form);
        output[3] = aidge_ref_stored(sums[3], bias, multipliers, 3, multiplier_step, levels, form);
    }
}

/* Words of the biases of so many channels, whole groups if they are joined. */
AIDGE_KIT_INLINE int32_t aidge_ref_bias_words(int32_t channels, int32_t form)
{
    return form != AIDGE_REF_JOINED ? channels : channels + (channels >> 1);
}
