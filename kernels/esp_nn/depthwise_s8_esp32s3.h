/* SPDX-License-Identifier: 0BSD */
#include "window.h"
#include "assembly.h"

/* scratch: as many bytes as release 1.2.3 asks for; a release that asks for more gets C. */
static void aidge_esp_nn_depthwise_s8_esp32s3(const int8_t *input, int8_t *output, const int64_t *weights, const int32_t *bias,
                                              const int32_t *multipliers, const int32_t *shifts, const int32_t *levels,
                                              void *scratch, int32_t scratch_bytes, const aidge_kit_window2d *s)
{
    const int8_t *const w = (const int8_t *)weights;
    const quant_data_t factors = aidge_esp_nn_factors(multipliers, shifts);
    const dw_conv_params_t parameters = aidge_esp_nn_depthwise(levels, s);
    const data_dims_t in = aidge_esp_nn_in(s);
    const data_dims_t filter = {s->kernel_width, s->kernel_height, s->out_channels, 1};
    const data_dims_t out = aidge_esp_nn_out(s);
    const int32_t fits = esp_nn_get_depthwise_conv_scratch_size_esp32s3(&in, &filter, &out, &parameters) <= scratch_bytes ? 1 : 0;
    int32_t batch;
    esp_nn_set_depthwise_conv_scratch_buf_esp32s3(scratch);
    for (batch = 0; batch < s->batches; batch++) {
        if ((fits != 0) && (aidge_esp_nn_is_aligned(input, output) != 0)) {
            esp_nn_depthwise_conv_s8_esp32s3(&in, input, &filter, w, bias, &out, output, &parameters, &factors);
        } else {
            esp_nn_depthwise_conv_s8_opt(&in, input, &filter, w, bias, &out, output, &parameters, &factors);
        }
        input += s->in_width * s->in_height * s->in_channels;
        output += s->out_width * s->out_height * s->out_channels;
    }
}
