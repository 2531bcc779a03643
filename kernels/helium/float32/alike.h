/* SPDX-License-Identifier: 0BSD */
#include "kit/inline.h"
#include "kit/window2d.h"

/* How many pixels from this column on see as much as its own, whose window begins at `left`. */
AIDGE_KIT_INLINE int32_t aidge_helium_alike(int32_t column, int32_t left, const aidge_kit_window2d *shape)
{
    const int32_t room = shape->in_width - (shape->kernel_width - 1) * shape->dilation_width - 1 - left;
    const int32_t inner = room < 0 ? 1 : aidge_kit_divide(room, shape->stride_width) + 1;
    return left < 0 ? 1 : inner < shape->out_width - column ? inner : shape->out_width - column;
}
