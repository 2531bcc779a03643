/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "core/mve.h"

/* Blocks of so many outputs of `count` values each; steps in values. */
typedef struct {
    int32_t blocks, outputs, count, output_step, value_step, block_step;
} aidge_helium_reduction_float32;

/* Returns the places of the first values of four outputs; the last output replaces outputs that do not exist. */
AIDGE_KIT_INLINE uint32x4_t aidge_helium_places_of_4(int32_t left, int32_t step)
{
    const uint32x4_t last = vdupq_n_u32((uint32_t)left - 1u);
    return vmulq_n_u32(vminq_u32(vidupq_n_u32(0u, 1), last), (uint32_t)step);
}
