/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* output[i] = table[input[i] + 128] for i < count: any function of one int8 value; table: [256]. May work in place. */
static void aidge_ref_table_int8(const int8_t *input, int8_t *output, const int8_t *table, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        output[i] = table[input[i] + 128];
    }
}
