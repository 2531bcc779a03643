/* SPDX-License-Identifier: 0BSD */
#include "dense.h"

/* Pixels are computed two by two; of an odd number the last pair overlaps the one before. */
typedef struct {
    int32_t pairs;
    int32_t second_input, second_output;  /* bytes from the first pixel of a pair to the second */
    int32_t back_input, back_output;      /* bytes that the last pair goes back */
    int32_t output_step;                  /* bytes from pair to pair, less those that the groups have advanced */
    int32_t stream_bytes;
    int32_t column_bytes;                 /* of two pixels as int16 */
} aidge_cortexm_pointwise;

#if !AIDGE_CORTEXM_FPU
/* A pointwise convolution: the C version of the generated functions of this name. Scratch: the column of two pixels. */
AIDGE_CORTEXM_C void aidge_cortexm_pointwise_int8(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch,
                                                  const aidge_cortexm_pointwise *shape, int32_t packed, int32_t shift,
                                                  int32_t form)
{
    const int32_t *const end = stream + shape->stream_bytes / 4;
    uint32_t *const columns = (uint32_t *)scratch;
    const int32_t channels = shape->column_bytes / 4;
    const int32_t tap = 0;
    const aidge_cortexm_taps taps = {channels / 2, 2, 1, &tap};
    int32_t pair, i;
    for (pair = shape->pairs; pair > 0; pair--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        const int8_t *second = input + shape->second_input;
        if ((pair == 1) && (shape->pairs > 1)) {
            input -= shape->back_input;
            second -= shape->back_input;
            output -= shape->back_output;
        }
        for (i = 0; i < channels; i += 4) {
            const uint32_t x = aidge_cortexm_load(input + i);
            const uint32_t y = aidge_cortexm_load(second + i);
            columns[i] = aidge_cortexm_even_bytes(x);
            columns[i + 1] = aidge_cortexm_even_bytes(y);
            columns[i + 2] = aidge_cortexm_odd_bytes(x);
            columns[i + 3] = aidge_cortexm_odd_bytes(y);
        }
        while (group != end) {
            group = aidge_cortexm_two_groups(columns, 1, &taps, group, output, shape->second_output, stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        input = second + channels;
        output += shape->output_step;
    }
}
#endif
