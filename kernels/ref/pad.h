/* SPDX-License-Identifier: 0BSD */
#include "strided_copy.h"

/* count copies of one element at value, then a strided copy into them: padding with a constant, any type. */
static void aidge_ref_pad(const void *source, void *target, const void *value, int32_t count,
                          const aidge_ref_strided_copy_shape *shape)
{
    aidge_ref_copy_run((const uint8_t *)value, (uint8_t *)target, count, 0, shape->element_bytes, shape->element_bytes);
    aidge_ref_strided_copy(source, target, shape);
}
