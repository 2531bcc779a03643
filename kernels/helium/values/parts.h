/* SPDX-License-Identifier: 0BSD */
#include "runs.h"
#include "table_int8.h"

/* to[i] = table[from[i]] for i < bytes. */
static inline void aidge_helium_table_bytes(uint8_t *to, const uint8_t *from, const uint8_t *table, int32_t bytes)
{
    aidge_helium_table_int8((const int8_t *)from, (int8_t *)to, (const int8_t *)table, bytes);
}
