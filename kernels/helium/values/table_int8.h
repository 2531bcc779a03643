/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/* y[i] = table[the byte x[i]] for i < count: any function of one int8 value; table: [256]. May work in place. */
static void aidge_helium_table_int8(const int8_t *x, int8_t *y, const int8_t *table, int32_t count)
{
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [%[x]], #16\n\t"
                     "vldrb.u8 q1, [%[table], q0]\n\t"
                     "vstrb.8 q1, [%[y]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [x] "+&r"(x), [y] "+&r"(y)
                     : [table] "r"(table), [count] "r"(count)
                     : "lr", "d0", "d1", "d2", "d3", "memory");
}
