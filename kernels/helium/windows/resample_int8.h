/* SPDX-License-Identifier: 0BSD */
#include "kit/requantize.h"
#include "kit/resample.h"
#include "core/mve.h"

/*
 * A run of outputs: output = requantize(start + sum of shares * input), four at a time. The rounded product of two floats is what
 * kit/requantize.h says, and VCVTN rounds half to even.
 */
AIDGE_KIT_NOINLINE void aidge_helium_resample_run(const int8_t *input, int8_t *output, const int32_t *list, const int32_t *end,
                                                  float multiplier, const int32_t *levels, int32_t run)
{
    const aidge_kit_levels bounds = aidge_kit_load_levels(levels + 1);
    int32_t i;
    for (i = 0; i < run; i += 4) {
        const mve_pred16_t valid = vctp32q((uint32_t)(run - i));
        const int32_t *entry;
        int32x4_t sum = vdupq_n_s32(levels[0]);
        for (entry = list; entry != end; entry += 2) {
            sum = vmlaq_n_s32(sum, vldrbq_z_s32(input + entry[0] + i, valid), entry[1]);
        }
        sum = vcvtnq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(sum), multiplier));
        sum = vminq_s32(vmaxq_s32(sum, vdupq_n_s32(bounds.lowest)), vdupq_n_s32(bounds.highest));
        vstrbq_p_s32(output + i, vaddq_n_s32(sum, bounds.zero_point), valid);
    }
}

/* Resizing with weights; the arguments are those of ref's resample_int8.h. */
static void aidge_helium_resample_int8(const int8_t *input, int8_t *output, void *scratch, const int32_t *offsets,
                                       const int32_t *shares, const float *multiplier, const int32_t *levels,
                                       const aidge_kit_resample_shape *shape)
{
    int32_t *const list = (int32_t *)scratch;
    int32_t place[5];
    const int32_t total = aidge_kit_first_resample(place, shape);
    do {
        int32_t *const end = aidge_kit_resample_list(list, offsets, shares, place, shape->taps);
        if (aidge_kit_resamples_outside(offsets, place) != 0) {
            (void)memset(output, levels[5], (uint32_t)shape->run);
        } else {
            aidge_helium_resample_run(input, output, list, end, *multiplier, levels, shape->run);
        }
        output += shape->run;
    } while (aidge_kit_next_resample(place, total, shape) != 0);
}
