/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* A tensor as [outer][channels][inner], with numbers of its own for each channel. */
typedef struct {
    int32_t outer, channels, inner;
} aidge_ref_channels_shape;
