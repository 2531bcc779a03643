/* SPDX-License-Identifier: 0BSD */
#include "window.h"

/* levels: lowest and highest stored value. */
static void aidge_esp_nn_avg_pool_s8(const int8_t *input, int8_t *output, const int32_t *levels, const aidge_kit_window2d *s)
{
    int32_t batch;
    for (batch = 0; batch < s->batches; batch++) {
        esp_nn_avg_pool_s8_ansi(input, (uint16_t)s->in_width, (uint16_t)s->in_height, output, (uint16_t)s->out_width,
                                (uint16_t)s->out_height, (uint16_t)s->stride_width, (uint16_t)s->stride_height,
                                (uint16_t)s->kernel_width, (uint16_t)s->kernel_height, (uint16_t)s->pad_left,
                                (uint16_t)s->pad_top, levels[0], levels[1], (uint16_t)s->in_channels);
        input += s->in_width * s->in_height * s->in_channels;
        output += s->out_width * s->out_height * s->out_channels;
    }
}
