/* SPDX-License-Identifier: 0BSD */
#include "checkout/Include/arm_nnfunctions.h"
#include "checkout/Include/arm_nnsupportfunctions.h"

/* A window over height and width; sizes in elements, scratch in bytes. */
typedef struct {
    int32_t batches, in_channels, out_channels, groups, scratch_bytes;
    int32_t in_height, in_width, out_height, out_width, kernel_height, kernel_width;
    int32_t stride_height, stride_width, pad_top, pad_left, dilation_height, dilation_width;
} aidge_cmsis_nn_window;
