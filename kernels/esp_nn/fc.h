/* SPDX-License-Identifier: 0BSD */
#include "layer.h"

typedef struct {
    int32_t batches, inputs, outputs;
} aidge_esp_nn_fc;
