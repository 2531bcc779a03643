/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* A fully connected layer: input [batches][in_features], output [batches][out_features]. */
typedef struct {
    int32_t batches, in_features, out_features;
} aidge_ref_fc_shape;
