/* SPDX-License-Identifier: 0BSD */
#include "kit/requantize.h"
#include "three_sums.h"

enum { AIDGE_KIT_NARROW_DEPTHWISE_HEAD = 7 };

/* Completes a row of outputs from its sums: outputs with `kind` corrections only lack these, other outputs need the general
 * requantization. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_correct_row(const int32_t *sums, int8_t *output, const int32_t *numbers,
                                                    const int32_t *stream, int32_t kind, const int32_t *corrections,
                                                    int32_t columns, int32_t column_step)
{
    const aidge_kit_levels levels = aidge_kit_load_levels(stream + 4);
    float multiplier;
    int32_t each;
    (void)memcpy(&multiplier, numbers + 3, sizeof multiplier);
    for (; columns > 0; columns--) {
        if (kind == AIDGE_KIT_NARROW_GENERAL_KIND) {
            const int32_t sum = aidge_kit_narrow_fine(*sums, numbers[1] & 0xFFFFFF, numbers[2]);
            *output = aidge_kit_requantize(sum, multiplier, levels);
        } else {
            for (each = 0; each < 3 * kind; each += 3) {
                if (aidge_kit_narrow_is_corrected(*sums, numbers[1] & 0xFFFFFF, corrections + each) != 0) {
                    *output = (int8_t)(*output + corrections[each + 2]);
                }
            }
        }
        sums++;
        output += column_step;
    }
}

