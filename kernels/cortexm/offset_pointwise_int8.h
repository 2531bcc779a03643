/* SPDX-License-Identifier: 0BSD */
#include "offsets.h"
#include "pointwise_int8.h"

#if !AIDGE_CORTEXM_FPU
/* As aidge_cortexm_pointwise_int8, with `sums` more words of each pixel in the column. */
AIDGE_CORTEXM_C void aidge_cortexm_offset_pointwise_int8(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch,
                                                         const aidge_cortexm_pointwise *shape, int32_t sums, int32_t packed,
                                                         int32_t shift, int32_t form)
{
    const int32_t *const end = stream + shape->stream_bytes / 4;
    uint32_t *const columns = (uint32_t *)scratch;
    const int32_t channels = shape->column_bytes / 4;
    const int32_t tap = 0;
    const aidge_cortexm_taps taps = {channels / 2, 2, 1, &tap};
    int32_t pair, pixel, i;
    for (pair = shape->pairs; pair > 0; pair--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        if ((pair == 1) && (shape->pairs > 1)) {
            input -= shape->back_input;
            output -= shape->back_output;
        }
        for (pixel = 0; pixel < 2; pixel++) {
            for (i = 0; i < channels; i += 4) {
                const uint32_t word = aidge_cortexm_load(input + pixel * shape->second_input + i);
                columns[i + pixel] = aidge_cortexm_even_bytes(word);
                columns[i + pixel + 2] = aidge_cortexm_odd_bytes(word);
            }
            aidge_cortexm_sum_column(columns + pixel, 2, channels / 2, sums);
        }
        while (group != end) {
            group = aidge_cortexm_two_offset_groups(columns, 1, &taps, columns + channels, sums, group, output, shape->second_output,
                                                    stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        input += shape->second_input + channels;
        output += shape->output_step;
    }
}
#endif
