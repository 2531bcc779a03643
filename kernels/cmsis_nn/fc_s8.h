/* SPDX-License-Identifier: 0BSD */
#include "checkout/Include/arm_nnfunctions.h"
#include "checkout/Include/arm_nnsupportfunctions.h"

typedef struct {
    int32_t batches, inputs, outputs;
} aidge_cmsis_nn_fc;

/* levels: -(input zero point), output zero point, lowest and highest stored value. scratch: one sum per output, for MVE. */
static void aidge_cmsis_nn_fc_s8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                 const int32_t *multipliers, const int32_t *shifts, const int32_t *levels, void *scratch,
                                 const aidge_cmsis_nn_fc *s)
{
    const cmsis_nn_context context = {scratch, 4 * s->outputs};
    const cmsis_nn_fc_params parameters = {levels[0], 0, levels[1], {levels[2], levels[3]}};
    const cmsis_nn_per_channel_quant_params factors = {(int32_t *)(uintptr_t)multipliers, (int32_t *)(uintptr_t)shifts};
    const cmsis_nn_dims in = {s->batches, 1, 1, s->inputs};
    const cmsis_nn_dims filter = {s->inputs, 1, 1, s->outputs};
    const cmsis_nn_dims channels = {1, 1, 1, s->outputs};
    const cmsis_nn_dims out = {s->batches, 1, 1, s->outputs};
#if defined(ARM_MATH_MVEI)
    (void)arm_vector_sum_s8((int32_t *)scratch, s->inputs, s->outputs, weights, levels[0], 0, bias);
#endif
    (void)arm_fully_connected_per_channel_s8(&context, &parameters, &factors, &in, input, &filter, weights, &channels, bias, &out, output);
}
