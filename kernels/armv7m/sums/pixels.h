/* SPDX-License-Identifier: 0BSD */
#include "dense.h"
#include "kit/window2d.h"

/* A layer that computes blocks of pixels, the last of which may be computed twice. */
typedef struct {
    int32_t images, pixels;                /* of the output, and pixels of one */
    int32_t channels, outputs;             /* of a pixel */
    int32_t column_bytes, entry, first_bytes, segment_bytes; /* as in aidge_armv7m_block */
    int32_t whole_weights, whole_numbers; /* bytes and words of the groups that overlap no other */
} aidge_armv7m_layer;

static void aidge_armv7m_begin_block(aidge_armv7m_block *block, const aidge_armv7m_layer *shape, const int32_t *numbers)
{
    block->column_bytes = shape->column_bytes;
    block->entry = shape->entry;
    block->stride = shape->outputs;
    block->limits = aidge_armv7m_limits_of(numbers);
    block->first_bytes = shape->first_bytes;
    block->segment_bytes = shape->segment_bytes;
}
