/* SPDX-License-Identifier: 0BSD */
#include "fc.h"

static void aidge_esp_nn_fc_s8(const int8_t *input, int8_t *output, const int8_t *weights, const int32_t *bias,
                               const int32_t *multipliers, const int32_t *shifts, const int32_t *levels, const aidge_esp_nn_fc *s)
{
    int32_t batch;
    for (batch = 0; batch < s->batches; batch++) {
        esp_nn_fully_connected_per_ch_s8_ansi(input, levels[0], (uint16_t)s->inputs, weights, 0, bias, output,
                                              (uint16_t)s->outputs, levels[1], shifts, multipliers, levels[2], levels[3]);
        input += s->inputs;
        output += s->outputs;
    }
}
