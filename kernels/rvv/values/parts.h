/* SPDX-License-Identifier: 0BSD */
#include "core/bytes.h"

static inline void aidge_rvv_copy_part(uint8_t *to, const uint8_t *from, int32_t bytes)
{
    aidge_rvv_copy_bytes((int8_t *)to, (const int8_t *)from, bytes);
}

static inline void aidge_rvv_table_part(uint8_t *to, const uint8_t *from, const uint8_t *table, int32_t bytes)
{
    aidge_rvv_table_bytes((int8_t *)to, (const int8_t *)from, (const int8_t *)table, bytes);
}
