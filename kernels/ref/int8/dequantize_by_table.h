/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* output[i] = table[input[i] + 128] for i < count, int8 to float32; table: [256]. */
static void aidge_ref_dequantize_by_table(const int8_t *input, float *output, const float *table, int32_t count)
{
    for (; count > 0; count--) {
        *output++ = table[*input++ + 128];
    }
}
