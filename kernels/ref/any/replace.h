/* SPDX-License-Identifier: 0BSD */
#include "any/strided_copy.h"

#include <stdint.h>
#include <string.h>

/* The bytes of data, which may be where the output is, with a block of them replaced: the target of the copy. */
static void aidge_ref_replace(const void *data, const void *block, void *output, int32_t bytes,
                              const aidge_ref_strided_copy_shape *shape)
{
    if (data != output) {
        (void)memcpy(output, data, (uint32_t)bytes);
    }
    aidge_ref_strided_copy(block, output, shape);
}
