/* SPDX-License-Identifier: 0BSD */
#include "dense.h"

typedef struct {
    int32_t rows, outputs, stream_bytes;
} aidge_cortexm_fc;

#if !AIDGE_CORTEXM_FPU
/* A fully connected layer: the C version of the generated functions of this name. Scratch: a row of inputs as int16. */
AIDGE_CORTEXM_C void aidge_cortexm_fc_int8(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch,
                                           const aidge_cortexm_fc *shape, int32_t features, int32_t packed, int32_t shift,
                                           int32_t form)
{
    const int32_t *const end = stream + shape->stream_bytes / 4;
    uint32_t *const column = (uint32_t *)scratch;
    const int32_t words = (features + 3) / 4;
    const int32_t tap = 0;
    const aidge_cortexm_taps taps = {2 * words, 1, 1, &tap};
    int32_t row, i;
    for (row = shape->rows; row > 0; row--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        for (i = 0; i < words; i++) {
            const int32_t left = features - 4 * i;
            uint32_t word = 0;
            memcpy(&word, input + 4 * i, (size_t)(left < 4 ? left : 4));
            column[2 * i] = aidge_cortexm_even_bytes(word);
            column[2 * i + 1] = aidge_cortexm_odd_bytes(word);
        }
        while (group != end) {
            group = aidge_cortexm_group(column, &taps, group, output, stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        input += features;
        output += form < 0 ? shape->outputs : 0;
    }
}
#endif
