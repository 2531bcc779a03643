/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in elements, 0 repeats. */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, inner, columns;
} aidge_ref_product_shape;
