/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* Up to 8 inputs; each gives `bytes[i]` neighbouring bytes to each of `outer` blocks. */
typedef struct {
    int32_t count, outer;
    int32_t bytes[8];
} aidge_ref_concat_shape;
