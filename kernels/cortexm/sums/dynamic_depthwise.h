/* SPDX-License-Identifier: 0BSD */
#include "dynamic_bytes.h"

/* The part of a window that is inside the image: the zero point in both halves, rows of taps, bytes of a row and from its end to the
 * next one, bytes of a tap, bytes of the weights from row to row of taps. Assembly reads it in this order. */
typedef struct {
    uint32_t zeros;
    int32_t rows, length, next_row, step, next_weights;
} aidge_cortexm_dynamic_patch;
