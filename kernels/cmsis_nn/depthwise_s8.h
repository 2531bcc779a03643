/* SPDX-License-Identifier: 0BSD */
#include "window.h"

/* levels: -(input zero point), output zero point, lowest and highest stored value. */
static void aidge_cmsis_nn_depthwise_s8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                        const int32_t *multipliers, const int32_t *shifts, const int32_t *levels, void *scratch,
                                        const aidge_cmsis_nn_window *s)
{
    const cmsis_nn_context context = {scratch, s->scratch_bytes};
    const cmsis_nn_dw_conv_params parameters = {levels[0], levels[1], 1, {s->stride_width, s->stride_height}, {s->pad_left, s->pad_top},
                                                {s->dilation_width, s->dilation_height}, {levels[2], levels[3]}};
    const cmsis_nn_per_channel_quant_params factors = {(int32_t *)(uintptr_t)multipliers, (int32_t *)(uintptr_t)shifts};
    const cmsis_nn_dims in = {s->batches, s->in_height, s->in_width, s->in_channels};
    const cmsis_nn_dims filter = {1, s->kernel_height, s->kernel_width, s->out_channels};
    const cmsis_nn_dims channels = {1, 1, 1, s->out_channels};
    const cmsis_nn_dims out = {s->batches, s->out_height, s->out_width, s->out_channels};
    (void)arm_depthwise_conv_wrapper_s8(&context, &parameters, &factors, &in, input, &filter, weights, &channels, bias, &out, output);
}
