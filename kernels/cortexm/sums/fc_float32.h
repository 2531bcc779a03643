/* SPDX-License-Identifier: 0BSD */
#include "core/float32.h"

/* One row, `group` outputs at a time, 8 at most: the C version of the assembly. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_row_of_fc_float32_c(const float *input, float *output, const int32_t *stream,
                                                            int32_t features, const int32_t *end, const float *limits, int32_t group)
{
    while (stream != end) {
        const int32_t channel = *stream++ / 4;
        float sums[8];
        int32_t i, c;
        for (c = 0; c < group; c++) {
            sums[c] = aidge_cortexm_real(stream[c]);
        }
        stream += group;
        for (i = 0; i < features; i++) {
            for (c = 0; c < group; c++) {
                sums[c] += input[i] * aidge_cortexm_real(stream[c]);
            }
            stream += group;
        }
        for (c = 0; c < group; c++) {
            output[channel + c] = aidge_cortexm_limit(sums[c], limits);
        }
    }
}
