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
            (void)memcpy(&word, input + 4 * i, (size_t)(left < 4 ? left : 4));
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

/* The sums of 4 outputs and a pair of inputs more; returns what stands behind its weights. */
AIDGE_CORTEXM_C const int32_t *aidge_cortexm_fc_pair(const int32_t *weights, uint32_t inputs, uint32_t *sums, int32_t packed)
{
    int32_t i;
    if ((packed & AIDGE_CORTEXM_PACKED) != 0) {
        for (i = 0; i < 2; i++) {
            const uint32_t both = (uint32_t)*weights++;
            sums[2 * i] = aidge_cortexm_dot(aidge_cortexm_even_bytes(both), inputs, sums[2 * i]);
            sums[2 * i + 1] = aidge_cortexm_dot(both, inputs, sums[2 * i + 1]);
        }
        return weights;
    }
    for (i = 0; i < 4; i++) {
        sums[i] = aidge_cortexm_dot((uint32_t)*weights++, inputs, sums[i]);
    }
    return weights;
}

/* The same for rows of a multiple of 8 inputs, of which the assembly unpacks one half after the other. Scratch: more than a row of
 * inputs, which is read from there, for the outputs may lie where the inputs lay. */
AIDGE_CORTEXM_C void aidge_cortexm_fc_int8_halves(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch,
                                                  const aidge_cortexm_fc *shape, int32_t features, int32_t packed, int32_t shift,
                                                  int32_t form)
{
    const int32_t *const end = stream + shape->stream_bytes / 4;
    int8_t *const inputs = (int8_t *)scratch;
    int32_t row, i;
    for (row = shape->rows; row > 0; row--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        (void)memcpy(inputs, input, (size_t)features);
        while (group != end) {
            uint32_t sums[4];
            (void)memcpy(sums, group, sizeof sums);
            group += 4;
            for (i = 0; i < features; i += 4) {
                const uint32_t word = aidge_cortexm_load(inputs + i);
                group = aidge_cortexm_fc_pair(group, aidge_cortexm_even_bytes(word), sums, packed);
                group = aidge_cortexm_fc_pair(group, aidge_cortexm_odd_bytes(word), sums, packed);
            }
            group = aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], group, output, stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        input += features;
        output += form < 0 ? shape->outputs : 0;
    }
}
#endif
