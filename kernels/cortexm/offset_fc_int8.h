/* SPDX-License-Identifier: 0BSD */
#include "offsets.h"
#include "fc_int8.h"

#if !AIDGE_CORTEXM_FPU
/* As aidge_cortexm_fc_int8 of whole groups; behind each of the `blocks` of a row come weights of `sums` / `blocks` pairs more. */
AIDGE_CORTEXM_C void aidge_cortexm_offset_fc_int8(const int8_t *input, int8_t *output, const int32_t *stream, void *scratch,
                                                  const aidge_cortexm_fc *shape, int32_t features, int32_t blocks, int32_t sums,
                                                  int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const end = stream + shape->stream_bytes / 4;
    uint32_t *const inputs = (uint32_t *)scratch;
    const int32_t words = (features + 3) / 4;
    int32_t row, block, i;
    for (row = shape->rows; row > 0; row--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS + ((packed & AIDGE_CORTEXM_UNIFORM) != 0 ? 4 : 0);
        inputs[words - 1] = 0;
        (void)memcpy(inputs, input, (size_t)features);
        while (group != end) {
            const int32_t *const start = group;
            const uint32_t *next = inputs;
            uint32_t totals[4];
            group = aidge_cortexm_biases(group, totals, packed);
            for (block = 0; block < blocks; block++) {
                uint32_t total = 0;
                for (i = words / blocks; i > 0; i--) {
                    const uint32_t even = aidge_cortexm_even_bytes(*next);
                    const uint32_t odd = aidge_cortexm_odd_bytes(*next);
                    next++;
                    group = aidge_cortexm_offset_pair(aidge_cortexm_offset_pair(group, even, totals, packed), odd, totals, packed);
                    total = aidge_cortexm_dot(even, (uint32_t)AIDGE_CORTEXM_MINUS_ONES, total);
                    total = aidge_cortexm_dot(odd, (uint32_t)AIDGE_CORTEXM_MINUS_ONES, total);
                }
                for (i = sums / blocks; i > 0; i--) {
                    uint32_t part[1];
                    aidge_cortexm_put_sum(part, 0, 1, (int32_t)total);
                    total -= (uint32_t)(aidge_cortexm_low(part[0]) + aidge_cortexm_high(part[0]));
                    group = aidge_cortexm_offset_pair(group, part[0], totals, packed);
                }
            }
            group = aidge_cortexm_store_group(totals[0], totals[1], totals[2], totals[3], start, group, output, stream, packed, shift,
                                              form);
            output += form < 0 ? 0 : 4;
        }
        input += features;
        output += form < 0 ? shape->outputs : 0;
    }
}
#endif
