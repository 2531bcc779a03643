/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/* Images of rows of `count` elements, `step` elements apart in the source; a row of outputs has `outputs` elements. */
typedef struct {
    int32_t images, step, rows, count, outputs;
} aidge_helium_lines_shape;

#if !AIDGE_HELIUM_ASSEMBLY
/* A sum of fractions over 2^shift with what rounding adds; ties go to the even value, or if they are turned to the odd one. */
AIDGE_KIT_INLINE int8_t aidge_helium_resampled_even(int32_t sum, int32_t shift, int32_t is_turned)
{
    return (int8_t)((sum + (((sum >> shift) & 1) ^ is_turned)) >> shift);
}

/* The quantized value of a sum; numbers as resample_lines_text.py has them. */
AIDGE_KIT_INLINE int8_t aidge_helium_resampled(int32_t sum, const int32_t *numbers)
{
    const aidge_kit_levels levels = {-128 - numbers[4], 127 - numbers[4], numbers[4]};
    float multiplier;
    (void)memcpy(&multiplier, numbers + 3, sizeof multiplier);
    return aidge_kit_requantize(sum, multiplier, levels);
}
#endif
