/* SPDX-License-Identifier: 0BSD */
#include "mve.h"
#include "kit/pool_part.h"

/* Part of the maximum over the whole map, int8, channels last, clamped to levels {lowest, highest}; scratch: int8 [channels]. */
static void aidge_helium_max_part_int8(const int8_t *input, int8_t *output, void *scratch, const int8_t *levels,
                                      const aidge_kit_part *part)
{
    const int32_t channels = part->channels;
    int8_t *const largest = (int8_t *)scratch;
    int32_t channel, pixel;
    if (part->before == 0) {
        (void)memset(largest, -128, (size_t)channels);
    }
#if AIDGE_HELIUM_ASSEMBLY
    for (channel = 0; channel < channels; channel += 16) {
        const mve_pred16_t mask = vctp8q((uint32_t)(channels - channel));
        const int8_t *source = input + channel;
        int8x16_t most = vldrbq_z_s8(largest + channel, mask);
        for (pixel = part->pixels; pixel > 0; pixel--) {
            most = vmaxq_s8(most, vldrbq_z_s8(source, mask));
            source += channels;
        }
        vstrbq_p_s8(largest + channel, most, mask);
    }
#else
    for (channel = 0; channel < channels; channel++) {
        const int8_t *value = input + channel;
        for (pixel = part->pixels; pixel > 0; pixel--) {
            largest[channel] = *value > largest[channel] ? *value : largest[channel];
            value += channels;
        }
    }
#endif
    for (channel = 0; (part->is_last != 0) && (channel < channels); channel++) {
        const int8_t most = largest[channel] < levels[1] ? largest[channel] : levels[1];
        output[channel] = most > levels[0] ? most : levels[0];
    }
}
