/* SPDX-License-Identifier: 0BSD */
#include "kit/window2d.h"
#include "layer.h"

/* The parts of a convolution as ESP-NN takes them. */
static data_dims_t aidge_esp_nn_in(const aidge_kit_window2d *s)
{
    const data_dims_t in = {s->in_width, s->in_height, s->in_channels, 1};
    return in;
}

static data_dims_t aidge_esp_nn_out(const aidge_kit_window2d *s)
{
    const data_dims_t out = {s->out_width, s->out_height, s->out_channels, 1};
    return out;
}

static conv_params_t aidge_esp_nn_convolution(const int32_t *levels, const aidge_kit_window2d *s)
{
    const conv_params_t parameters = {levels[0], levels[1], {s->stride_width, s->stride_height}, {s->pad_left, s->pad_top},
                                      {1, 1}, {levels[2], levels[3]}};
    return parameters;
}

static dw_conv_params_t aidge_esp_nn_depthwise(const int32_t *levels, const aidge_kit_window2d *s)
{
    const dw_conv_params_t parameters = {levels[0], levels[1], s->out_channels / s->in_channels, {s->stride_width, s->stride_height},
                                         {s->pad_left, s->pad_top}, {1, 1}, {levels[2], levels[3]}};
    return parameters;
}
