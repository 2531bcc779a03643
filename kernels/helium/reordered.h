/* SPDX-License-Identifier: 0BSD */
#include "copies.h"

/* Loops over the output, the slowest first, with their steps in the input, around runs whose elements lie `step` apart there. */
typedef struct {
    int32_t dims[4], steps[4];
    int32_t length, step;
} aidge_helium_reordered;
