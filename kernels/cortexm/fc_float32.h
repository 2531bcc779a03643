/* SPDX-License-Identifier: 0BSD */
#include "float32.h"

/* One row: the C version of the assembly. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_row_of_fc_float32_c(const float *input, float *output, const int32_t *stream,
                                                            int32_t features, const int32_t *end, const float *limits)
{
    while (stream != end) {
        const int32_t channel = *stream++ / 4;
        float sums[8];
        int32_t i, c;
        for (c = 0; c < 8; c++) {
            sums[c] = aidge_cortexm_real(stream[c]);
        }
        stream += 8;
        for (i = 0; i < features; i++) {
            for (c = 0; c < 8; c++) {
                sums[c] += input[i] * aidge_cortexm_real(stream[c]);
            }
            stream += 8;
        }
        for (c = 0; c < 8; c++) {
            output[channel + c] = aidge_cortexm_limit(sums[c], limits);
        }
    }
}
