/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* y[i] = table[the byte x[i]] for i < count: any function from one int8 value to a float; table: [256]. */
static void aidge_helium_real_table(const int8_t *x, float *y, const float *table, int32_t count)
{
#if AIDGE_HELIUM_ASSEMBLY
    __asm__ volatile("wlstp.32 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vldrb.u32 q0, [%[x]], #4\n\t"
                     "vldrw.u32 q1, [%[table], q0, uxtw #2]\n\t"
                     "vstrw.32 q1, [%[y]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [x] "+&l"(x), [y] "+&r"(y) /* a load that widens takes a low register */
                     : [table] "r"(table), [count] "r"(count)
                     : "lr", "d0", "d1", "d2", "d3", "memory");
#else
    int32_t i;
    for (i = 0; i < count; i++) {
        y[i] = table[(uint8_t)x[i]];
    }
#endif
}
