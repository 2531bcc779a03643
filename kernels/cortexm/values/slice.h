/* SPDX-License-Identifier: 0BSD */
#include "core/copies.h"

/* `bytes` from byte `first` on. */
static void aidge_cortexm_slice(const void *input, void *output, int32_t first, int32_t bytes)
{
    aidge_cortexm_copy_bytes((uint8_t *)output, (const uint8_t *)input + first, bytes);
}
