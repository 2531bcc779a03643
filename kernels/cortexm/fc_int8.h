/* SPDX-License-Identifier: 0BSD */
#include "dense.h"

typedef struct {
    int32_t rows, outputs, stream_bytes;
} aidge_cortexm_fc;

#if !AIDGE_CORTEXM_FPU
/* How many outputs of a group have weights. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_fc_outputs(int32_t packed)
{
    const int32_t few = (packed / AIDGE_CORTEXM_FEW) & 3;
    return few != 0 ? few : 4;
}

/* The sums of a group of outputs and a pair of inputs more; returns what stands behind its weights. */
AIDGE_CORTEXM_C const int32_t *aidge_cortexm_fc_pair(const int32_t *weights, uint32_t inputs, uint32_t *sums, int32_t packed)
{
    const int32_t outputs = aidge_cortexm_fc_outputs(packed);
    int32_t i;
    if ((packed & AIDGE_CORTEXM_PACKED) != 0) {
        for (i = 0; i < 2; i++) {
            const uint32_t both = (uint32_t)*weights++;
            sums[2 * i] = aidge_cortexm_dot(aidge_cortexm_even_bytes(both), inputs, sums[2 * i]);
            sums[2 * i + 1] = aidge_cortexm_dot(both, inputs, sums[2 * i + 1]);
        }
        return weights;
    }
    for (i = 0; i < outputs; i++) {
        sums[i] = aidge_cortexm_dot((uint32_t)*weights++, inputs, sums[i]);
    }
    return weights;
}

/* The same of 4 inputs: bytes of a word. */
AIDGE_CORTEXM_C const int32_t *aidge_cortexm_fc_quad(const int32_t *weights, uint32_t inputs, uint32_t *sums, int32_t packed)
{
    const uint32_t even = aidge_cortexm_even_bytes(inputs);
    const uint32_t odd = aidge_cortexm_odd_bytes(inputs);
    const int32_t outputs = aidge_cortexm_fc_outputs(packed);
    int32_t i;
    if ((packed & AIDGE_CORTEXM_BYTES) == 0) {
        return aidge_cortexm_fc_pair(aidge_cortexm_fc_pair(weights, even, sums, packed), odd, sums, packed);
    }
    for (i = 0; i < outputs; i++) {
        const uint32_t own = (uint32_t)*weights++;
        sums[i] = aidge_cortexm_dot(aidge_cortexm_even_bytes(own), even, sums[i]);
        sums[i] = aidge_cortexm_dot(aidge_cortexm_odd_bytes(own), odd, sums[i]);
    }
    return weights;
}

/* A fully connected layer: the C version of the generated functions of this name. Scratch: a row of inputs, of which the assembly
 * unpacks a half or all. They are read from there, for the outputs may lie where they lay. `rest`: what `packed` is for the fewer
 * outputs than a group has, whose numbers follow the groups; 0: there are none. */
AIDGE_CORTEXM_C void aidge_cortexm_fc_int8(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch,
                                           const aidge_cortexm_fc *shape, int32_t features, int32_t packed, int32_t shift,
                                           int32_t form, int32_t rest)
{
    const int32_t *const end = stream + shape->stream_bytes / 4;
    uint32_t *const inputs = (uint32_t *)scratch;
    const int32_t words = (features + 3) / 4;
    int32_t row, i;
    for (row = shape->rows; row > 0; row--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS + ((packed & AIDGE_CORTEXM_UNIFORM) != 0 ? 4 : 0);
        inputs[words - 1] = 0;
        (void)memcpy(inputs, input, (size_t)features);
        while (group != end) {
            const int32_t *const start = group;
            uint32_t sums[4];
            group = aidge_cortexm_biases(group, sums, packed);
            for (i = 0; i < words; i++) {
                group = aidge_cortexm_fc_quad(group, inputs[i], sums, packed);
            }
            group = aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], start, group, output, stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        if (rest != 0) {
            uint32_t sums[4];
            group = aidge_cortexm_biases(end, sums, rest);
            for (i = 0; i < words; i++) {
                group = aidge_cortexm_fc_quad(group, inputs[i], sums, rest);
            }
            (void)aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], end, group, output, stream, rest, shift, form);
            output += aidge_cortexm_fc_outputs(rest);
        }
        input += features;
        output += form < 0 ? shape->outputs : 0;
    }
}

/* The same of fewer than 4 outputs: the C version of the generated functions of this name. */
AIDGE_CORTEXM_C void aidge_cortexm_fc_few_int8(const int8_t *input, int8_t *output, const int32_t *stream,
                                               const aidge_cortexm_fc *shape, int32_t features, int32_t packed, int32_t shift,
                                               int32_t form)
{
    int32_t row, i;
    for (row = shape->rows; row > 0; row--) {
        const int32_t *const start = stream + AIDGE_CORTEXM_HEAD_WORDS;
        const int32_t *group;
        uint32_t sums[4];
        group = aidge_cortexm_biases(start, sums, packed);
        for (i = 0; i < features; i += 4) {
            const int32_t left = features - i;
            uint32_t inputs = 0;
            (void)memcpy(&inputs, input + i, left < 4 ? (size_t)left : sizeof inputs);
            group = aidge_cortexm_fc_quad(group, inputs, sums, packed);
        }
        (void)aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], start, group, output, stream, packed, shift, form);
        input += features;
        output += shape->outputs;
    }
}
#endif
