/* SPDX-License-Identifier: 0BSD */
#include "float32.h"

static void aidge_cortexm_row_of_fc_float32(const float *input, float *output, const int32_t *stream, int32_t features,
                                            const int32_t *end, const float *limits);

/* A fully connected layer of float32: 8 outputs at a time. */
static void aidge_cortexm_fc_f32(const float *input, float *output, const int32_t *stream, const float *limits, int32_t rows,
                                 int32_t features, int32_t outputs, int32_t stream_words)
{
    for (; rows > 0; rows--) {
        aidge_cortexm_row_of_fc_float32(input, output, stream, features, stream + stream_words, limits);
        input += features;
        output += outputs;
    }
}

#if !AIDGE_CORTEXM_ASSEMBLY
/* One row: the C version of the assembly of this name. */
static void aidge_cortexm_row_of_fc_float32(const float *input, float *output, const int32_t *stream, int32_t features,
                                            const int32_t *end, const float *limits)
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
#endif
