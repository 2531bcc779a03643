/* SPDX-License-Identifier: 0BSD */
#include "offsets.h"
#include "planes.h"

#if !AIDGE_CORTEXM_FPU
/* As aidge_cortexm_planes_row. Behind the planes come those of the `sums` of windows, of which `windows` begin in the row. */
AIDGE_CORTEXM_C void aidge_cortexm_offset_planes_row(uint32_t *words, int8_t *output, const int32_t *stream,
                                                     const aidge_cortexm_run *run, int32_t windows, const aidge_cortexm_taps *taps,
                                                     int32_t sums, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const end = stream + run->stream_bytes / 4;
    uint32_t *const behind = words + taps->planes * taps->step;
    int32_t window, plane, tap, pair;
    for (window = 0; window < windows; window++) {
        const uint32_t *values = words + window;
        uint32_t total = 0;
        for (plane = taps->planes; plane > 0; plane--) {
            for (tap = 0; tap < taps->count; tap++) {
                total = aidge_cortexm_dot(values[taps->taps[tap]], (uint32_t)AIDGE_CORTEXM_MINUS_ONES, total);
            }
            values += taps->step;
        }
        aidge_cortexm_put_sum(behind + window, taps->step, sums, (int32_t)total);
    }
    for (pair = run->pairs; pair > 0; pair--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        if ((pair == 1) && (run->pairs > 1)) {
            words -= run->back_input / 4;
            output -= run->back_output;
        }
        while (group != end) {
            group = aidge_cortexm_two_offset_groups(words, run->second_input / 4, taps, words + taps->planes * taps->step, sums, group,
                                                    output, run->second_output, stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        words += run->input_step / 4;
        output += run->output_step;
    }
}
#endif
