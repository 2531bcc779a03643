/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/* Images of rows of `count` elements, `step` elements apart in the source; a row of outputs has `outputs` elements. */
typedef struct {
    int32_t images, step, rows, count, outputs;
} aidge_helium_lines_shape;
