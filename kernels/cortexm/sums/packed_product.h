/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/row_blocks.h"

/* A block of a row as integers with one exponent. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_block_integers(
    const float *values, int32_t *x, aidge_kit_row_block *block, int32_t count, int32_t bits)
{
    int32_t sum = 0;
    int32_t index;
    block->unit = aidge_kit_common_exponent(values, x, count, bits);
    for (index = 0; index < count; index++) {
        sum += x[index];
    }
    block->minus_sum = -sum;
}
