/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* Rows of `length` elements that lie `inner` elements apart; `outer` blocks of `inner` rows. */
typedef struct {
    int32_t outer, length, inner;
} aidge_ref_softmax_shape;
