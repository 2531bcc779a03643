/* SPDX-License-Identifier: 0BSD */
#include "lanes.h"
#include "kit/pool_part.h"

/* Part of the maximum over the whole map, int8, channels last, clamped to levels {lowest, highest}; scratch: int8 [channels]. */
static void aidge_cortexm_max_part_int8(const int8_t *input, int8_t *output, void *scratch, const int8_t *levels,
                                      const aidge_kit_part *part)
{
    const int32_t channels = part->channels;
    int8_t *const largest = (int8_t *)scratch;
    int32_t channel, pixel;
    if (part->before == 0) {
        (void)memset(largest, -128, (size_t)channels);
    }
    for (channel = 0; channel < channels; channel += 4) {
        const int32_t place = channel + 4 <= channels ? channel : channels - 4; /* the last 4 overlap those before */
        const int8_t *source = input + place;
        uint32_t most = aidge_cortexm_load(largest + place);
        for (pixel = part->pixels; pixel > 0; pixel--) {
            most = aidge_cortexm_larger_bytes(most, aidge_cortexm_load(source));
            source += channels;
        }
        (void)memcpy(largest + place, &most, sizeof most);
    }
    for (channel = 0; (part->is_last != 0) && (channel < channels); channel++) {
        const int8_t most = largest[channel] < levels[1] ? largest[channel] : levels[1];
        output[channel] = most > levels[0] ? most : levels[0];
    }
}
