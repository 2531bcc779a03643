/* SPDX-License-Identifier: 0BSD */
#include "core/mve.h"

/* The sums of 8 channels over pixels that are `step` bytes apart; 0 < count <= 255. */
AIDGE_KIT_INLINE int16x8_t aidge_helium_add_8(const int8_t *pixel, int32_t count, int32_t step)
{
    int16x8_t sums = vdupq_n_s16(0);
    int16x8_t values;
    __asm__ volatile("dls lr, %[count]\n"
                     "1:\n\t"
                     "vldrb.s16 %q[values], [%[pixel]]\n\t"
                     "add %[pixel], %[pixel], %[step]\n\t"
                     "vadd.i16 %q[sums], %q[sums], %q[values]\n\t"
                     "le lr, 1b"
                     : [sums] "+&w"(sums), [pixel] "+&l"(pixel), [values] "=&w"(values)
                     : [count] "r"(count), [step] "r"(step)
                     : "lr", "memory");
    return sums;
}

/* The same of the channels that the mask names. */
static inline int16x8_t aidge_helium_add_up_to_8(const int8_t *pixel, int32_t count, int32_t step, mve_pred16_t mask)
{
    int16x8_t sums = vdupq_n_s16(0);
    for (; count > 0; count--) {
        sums = vaddq_s16(sums, vldrbq_z_s16(pixel, mask));
        pixel += step;
    }
    return sums;
}
