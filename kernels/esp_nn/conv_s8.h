/* SPDX-License-Identifier: 0BSD */
#include "window.h"

static void aidge_esp_nn_conv_s8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                                 const int32_t *multipliers, const int32_t *shifts, const int32_t *levels,
                                 const aidge_kit_window2d *s)
{
    const quant_data_t factors = aidge_esp_nn_factors(multipliers, shifts);
    const conv_params_t parameters = aidge_esp_nn_convolution(levels, s);
    const data_dims_t in = aidge_esp_nn_in(s);
    const data_dims_t filter = {s->kernel_width, s->kernel_height, s->in_channels, 1};
    const data_dims_t out = aidge_esp_nn_out(s);
    int32_t batch;
    for (batch = 0; batch < s->batches; batch++) {
        esp_nn_conv_s8_opt(&in, input, &filter, weights, bias, &out, output, &parameters, &factors);
        input += s->in_width * s->in_height * s->in_channels;
        output += s->out_width * s->out_height * s->out_channels;
    }
}
