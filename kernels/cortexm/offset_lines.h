/* SPDX-License-Identifier: 0BSD */
#include "offsets.h"
#include "lines.h"

#if !AIDGE_CORTEXM_FPU
/* As aidge_cortexm_lines_row, with `sums` more words of each pixel in the column. */
AIDGE_CORTEXM_C void aidge_cortexm_offset_lines_row(const uint32_t *words, int8_t *output, const int32_t *stream,
                                                    const aidge_cortexm_run *run, uint32_t *column, const int16_t *gather,
                                                    int32_t taps, int32_t sums, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const end = stream + run->stream_bytes / 4;
    const int8_t *source = (const int8_t *)words;
    const int32_t tap = 0;
    const aidge_cortexm_taps order = {taps / 2, 2, 1, &tap};
    int32_t pair, pixel, i;
    for (pair = run->pairs; pair > 0; pair--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        if ((pair == 1) && (run->pairs > 1)) {
            source -= run->back_input;
            output -= run->back_output;
        }
        for (pixel = 0; pixel < 2; pixel++) {
            const int8_t *const values = source + pixel * run->second_input;
            for (i = 0; i < taps; i += 2) {
                const int32_t odd = gather[i + 1];
                column[i + pixel] = aidge_cortexm_pair(values[gather[i]], odd < 0 ? 0 : values[odd]);
            }
            aidge_cortexm_sum_column(column + pixel, 2, taps / 2, sums);
        }
        while (group != end) {
            group = aidge_cortexm_two_offset_groups(column, 1, &order, column + taps, sums, group, output, run->second_output, stream,
                                                    packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        source += run->input_step;
        output += run->output_step;
    }
}
#endif
