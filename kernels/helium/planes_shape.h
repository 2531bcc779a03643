/* SPDX-License-Identifier: 0BSD */
#include "copies.h"

/* What a generated function for planes computes. */
typedef struct {
    int32_t channels, in_width, rows, columns; /* of the input that are read */
    int32_t out_height, out_width, top, left;
    int32_t width, stride; /* of a plane with its pads */
    int32_t kernel_height, kernel_width;
    int32_t bits; /* by which sums are shifted before the bias is added */
    int32_t numbers; /* bytes of those of a channel */
    int32_t fixed;   /* rounding.py */
    int32_t wide;    /* whether a second window follows that of each channel: what its weights have beyond bytes */
} aidge_helium_planes_shape;
