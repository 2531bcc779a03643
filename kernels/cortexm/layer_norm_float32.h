/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "target.h"

/* Normalization of rows of `length` neighbours, float32. The generated functions take sums, sums of squares, and what becomes of them. */
typedef struct {
    int32_t rows, length, with_mean;
} aidge_cortexm_rows_of_floats;
