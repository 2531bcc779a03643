/* SPDX-License-Identifier: 0BSD */
#include "fc.h"
#include "assembly.h"

static void aidge_esp_nn_fc_s8_esp32s3(const int8_t *input, int8_t *output, const int64_t *weights, const int32_t *bias,
                                       const int32_t *multipliers, const int32_t *shifts, const int32_t *levels,
                                       const aidge_esp_nn_fc *s)
{
    const int8_t *const w = (const int8_t *)weights;
    const uint16_t inputs = (uint16_t)s->inputs;
    const uint16_t outputs = (uint16_t)s->outputs;
    int32_t batch;
    for (batch = 0; batch < s->batches; batch++) {
        if (aidge_esp_nn_is_aligned(input, output) != 0) {
            esp_nn_fully_connected_per_ch_s8_esp32s3(input, levels[0], inputs, w, 0, bias, output, outputs, levels[1], shifts,
                                                     multipliers, levels[2], levels[3]);
        } else {
            esp_nn_fully_connected_per_ch_s8_ansi(input, levels[0], inputs, w, 0, bias, output, outputs, levels[1], shifts,
                                                  multipliers, levels[2], levels[3]);
        }
        input += inputs;
        output += outputs;
    }
}
