/* SPDX-License-Identifier: 0BSD */
#include "grouped.h"

#if !AIDGE_CORTEXM_FPU
/* One row of pairs of 4 channels: the C version of the generated functions of this name. `places` [taps]: the word of each tap
 * relative to the pixel; the stream holds, for each tap, the weights of channels 0 and 2, then of 1 and 3. */
AIDGE_CORTEXM_C void aidge_cortexm_taps_row(const uint32_t *words, int8_t *output, const int32_t *stream,
                                            const aidge_cortexm_run *run, const int16_t *places, int32_t taps, int32_t shift,
                                            int32_t form)
{
    const int32_t *const group = stream + AIDGE_CORTEXM_HEAD_WORDS;
    int32_t pair, pixel, tap, channel;
    for (pair = run->pairs; pair > 0; pair--) {
        if ((pair == 1) && (run->pairs > 1)) {
            words -= run->back_input / 4;
            output -= run->back_output;
        }
        for (pixel = 0; pixel < 2; pixel++) {
            const int8_t *source = (const int8_t *)(words + pixel * (run->second_input / 4));
            uint32_t sums[4];
            for (channel = 0; channel < 4; channel++) {
                sums[channel] = (uint32_t)group[channel];
                for (tap = 0; tap < taps; tap++) {
                    const uint32_t weights = (uint32_t)group[4 + 2 * tap + (channel & 1)];
                    const int32_t weight = channel < 2 ? aidge_cortexm_low(weights) : aidge_cortexm_high(weights);
                    sums[channel] += (uint32_t)(weight * source[4 * places[tap] + channel]);
                }
            }
            (void)aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], group, group + 4 + 2 * taps,
                                            output + pixel * run->second_output, stream, 0, shift, form);
        }
        words += run->input_step / 4;
        output += run->output_step + (form < 0 ? 0 : 4);
    }
}
#endif
