/* SPDX-License-Identifier: 0BSD */
#include "core/copies.h"
#include "kit/cells.h"

/* Floats that do not overlap. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_copy_floats(float *to, const float *from, int32_t count)
{
    aidge_cortexm_copy_bytes((uint8_t *)(void *)to, (const uint8_t *)(const void *)from, 4 * count);
}
