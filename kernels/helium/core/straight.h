/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* y[i] = x[i] * line[0] + line[1], shifted by 20, within int8, for i < count: arithmetic/straight_levels.py. May work in place. */
static void aidge_helium_straight_int8(const int8_t *x, int8_t *y, const int32_t *line, int32_t count)
{
    __asm__ volatile("ldr lr, [%[line]]\n\t"
                     "vdup.32 q2, lr\n\t"
                     "ldr lr, [%[line], #4]\n\t"
                     "vdup.32 q3, lr\n\t"
                     "wlstp.32 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [%[x]], #4\n\t"
                     "vmul.i32 q0, q0, q2\n\t"
                     "vadd.i32 q0, q0, q3\n\t"
                     "vshr.s32 q0, q0, #20\n\t"
                     "vqmovnb.s32 q0, q0\n\t"
                     "vqmovnb.s16 q0, q0\n\t"
                     "vstrb.32 q0, [%[y]], #4\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [x] "+&l"(x), [y] "+&l"(y)
                     : [line] "r"(line), [count] "r"(count)
                     : "lr", "d0", "d1", "d4", "d5", "d6", "d7", "memory");
}
