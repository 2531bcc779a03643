/* SPDX-License-Identifier: 0BSD */
#include "kit/wide.h"
#include "kit/window2d.h"
#include "core/target.h"

/* A byte of each halfword, less the zero point that both halves of `zeros` hold. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_centred(uint32_t word, uint32_t zeros)
{
    return (uint32_t)__ssub16((int16x2_t)(word & 0x00FF00FFu), (int16x2_t)zeros);
}

/* The factors times the scale of the data, and the biases. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_dynamic_table(float *table, const float *numbers, float scale, int32_t groups)
{
    int32_t i;
    for (; groups > 0; groups--) {
        for (i = 0; i < 4; i++) {
            table[i] = scale * numbers[i];
            table[i + 4] = numbers[i + 4];
        }
        table += 8;
        numbers += 8;
    }
}
