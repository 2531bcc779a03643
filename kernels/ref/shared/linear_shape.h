/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* Channels per group; 3 spatial axes, missing ones first with size 1; steps in elements of batch, channel and these axes. */
typedef struct {
    int32_t batches, groups, in_channels, out_channels;
    int32_t in[3], out[3], kernel[3], strides[3], dilations[3], pads[3];
    int32_t in_steps[5], out_steps[5];
} aidge_ref_linear_shape;
