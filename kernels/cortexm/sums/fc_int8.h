/* SPDX-License-Identifier: 0BSD */
#include "pairs.h"

typedef struct {
    int32_t rows, outputs, stream_bytes;
} aidge_cortexm_fc;
