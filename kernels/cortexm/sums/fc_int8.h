/* SPDX-License-Identifier: 0BSD */
#include "pairs.h"

typedef struct {
    int32_t rows, outputs, stream_bytes;
} aidge_cortexm_fc;

#if !AIDGE_CORTEXM_FPU
/* The sums of a group of outputs and a pair of inputs more; returns what stands behind its weights. */
AIDGE_CORTEXM_C const int32_t *aidge_cortexm_fc_pair(const int32_t *weights, uint32_t inputs, uint32_t *sums, int32_t packed)
{
    const int32_t outputs = aidge_cortexm_channels(packed);
    int32_t i;
    for (i = 0; i < outputs; i++) {
        if ((packed & AIDGE_CORTEXM_PACKED) != 0) {
            const uint32_t both = (uint32_t)weights[i / 2];
            sums[i] = aidge_cortexm_dot((i & 1) != 0 ? both : aidge_cortexm_even_weights(both, packed), inputs, sums[i]);
        } else {
            sums[i] = aidge_cortexm_dot((uint32_t)weights[i], inputs, sums[i]);
        }
    }
    return weights + ((packed & AIDGE_CORTEXM_PACKED) != 0 ? outputs / 2 : outputs);
}

/* The same of 4 inputs: two pairs. */
AIDGE_CORTEXM_C const int32_t *aidge_cortexm_fc_quad(const int32_t *weights, uint32_t even, uint32_t odd, uint32_t *sums,
                                                     int32_t packed)
{
    const int32_t outputs = aidge_cortexm_channels(packed);
    int32_t i;
    if ((packed & AIDGE_CORTEXM_BYTES) == 0) {
        for (i = 0; (i < 4) && ((packed & AIDGE_CORTEXM_PAIRED) != 0); i += 2) { /* what biases lack */
            sums[i] = aidge_cortexm_dot(aidge_cortexm_even_weights((uint32_t)weights[i / 2], packed),
                                        aidge_cortexm_even_weights((uint32_t)weights[2 + i / 2], packed), sums[i]);
        }
        return aidge_cortexm_fc_pair(aidge_cortexm_fc_pair(weights, even, sums, packed), odd, sums, packed);
    }
    for (i = 0; i < outputs; i++) {
        const uint32_t own = (uint32_t)*weights++;
        sums[i] = aidge_cortexm_dot(aidge_cortexm_even_bytes(own), even, sums[i]);
        sums[i] = aidge_cortexm_dot(aidge_cortexm_odd_bytes(own), odd, sums[i]);
        if ((packed & AIDGE_CORTEXM_PAIRED) != 0) {
            sums[i] = aidge_cortexm_dot(aidge_cortexm_even_bytes(own), aidge_cortexm_odd_bytes(own), sums[i]);
        }
    }
    return weights;
}

/* The products of a group of outputs with a part of a row, and behind them with the parts of its negated sum. */
AIDGE_CORTEXM_C const int32_t *aidge_cortexm_fc_block(const int32_t *weights, const int8_t *input, int32_t features, int32_t more,
                                                      uint32_t *sums, int32_t packed)
{
    uint32_t total = 0;
    for (; features > 0; features -= 4) {
        uint32_t word = 0;
        uint32_t even, odd;
        (void)memcpy(&word, input, features < 4 ? (size_t)features : sizeof word);
        even = aidge_cortexm_even_bytes(word);
        odd = aidge_cortexm_odd_bytes(word);
        weights = aidge_cortexm_fc_quad(weights, even, odd, sums, packed);
        total = aidge_cortexm_dot(even, (uint32_t)AIDGE_CORTEXM_MINUS_ONES, total);
        total = aidge_cortexm_dot(odd, (uint32_t)AIDGE_CORTEXM_MINUS_ONES, total);
        input += 4;
    }
    for (; more > 0; more--) {
        uint32_t part[1];
        aidge_cortexm_put_sum(part, 0, 1, (int32_t)total);
        total -= (uint32_t)(aidge_cortexm_low(part[0]) + aidge_cortexm_high(part[0]));
        weights = aidge_cortexm_fc_pair(weights, part[0], sums, packed);
    }
    return weights;
}

/* A fully connected layer: the C version of the generated functions of this name. Scratch: a row of inputs, of which the assembly
 * unpacks one of the `blocks` at a time. They are read from there, for the outputs may lie where they lay; of few outputs, which
 * are written last, it is NULL. */
AIDGE_CORTEXM_C void aidge_cortexm_fc_int8(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch,
                                           const aidge_cortexm_fc *shape, int32_t features, int32_t blocks, int32_t packed,
                                           int32_t shift, int32_t form)
{
    const int32_t *const end = stream + shape->stream_bytes / 4;
    const int32_t more = packed / AIDGE_CORTEXM_SUMS / blocks;
    const int32_t size = features / blocks;
    int32_t row, block;
    for (row = shape->rows; row > 0; row--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS + ((packed & AIDGE_CORTEXM_UNIFORM) != 0 ? 4 : 0);
        const int8_t *inputs = input;
        if (scratch != NULL) {
            (void)memcpy(scratch, input, (size_t)features);
            inputs = (const int8_t *)scratch;
        }
        while (group != end) {
            const int32_t *const start = group;
            uint32_t sums[4];
            group = aidge_cortexm_biases(group, sums, packed);
            for (block = 0; block < blocks; block++) {
                group = aidge_cortexm_fc_block(group, inputs + block * size, size, more, sums, packed);
            }
            group = aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], start, group, output, stream, packed, shift, form);
            output += form < 0 ? 0 : aidge_cortexm_channels(packed);
        }
        input += features;
        output += form < 0 ? shape->outputs : 0;
    }
}
#endif
