/* SPDX-License-Identifier: 0BSD */
#include "kit/wide.h"

/* A layer that filters features over time: `rank` filters make one output. */
typedef struct {
    int32_t batches, inputs, filters, memory, rank;
} aidge_ref_svdf_shape;
