/* SPDX-License-Identifier: 0BSD */
#include <math.h>

/* Rows of `length` neighbours that are normalized, with or without their mean. */
typedef struct {
    int32_t rows, length, with_mean;
} aidge_kit_normalized_rows;
