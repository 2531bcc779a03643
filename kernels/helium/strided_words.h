/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* to[i * to_step] = from[i * from_step] for i < count; one step is 1. */
static void aidge_helium_strided_words(float *to, int32_t to_step, const float *from, int32_t from_step, int32_t count)
{
#if AIDGE_HELIUM_ASSEMBLY
    const int32_t step = to_step > from_step ? to_step : from_step;
    if (to_step > 1) {
        __asm__ volatile("movs r4, #0\n\t"
                         "vidup.u32 q1, r4, #1\n\t"
                         "vmul.i32 q1, q1, %[step]\n\t"
                         "wlstp.32 lr, %[count], 2f\n"
                         "1:\n\t"
                         "vldrw.u32 q0, [%[from]], #16\n\t"
                         "vstrw.32 q0, [%[to], q1, uxtw #2]\n\t"
                         "add %[to], %[to], %[step], lsl #4\n\t"
                         "letp lr, 1b\n"
                         "2:"
                         : [to] "+&r"(to), [from] "+&r"(from)
                         : [step] "r"(step), [count] "r"(count)
                         : "r4", "cc", "lr", "d0", "d1", "d2", "d3", "memory");
    } else {
        __asm__ volatile("movs r4, #0\n\t"
                         "vidup.u32 q1, r4, #1\n\t"
                         "vmul.i32 q1, q1, %[step]\n\t"
                         "wlstp.32 lr, %[count], 2f\n"
                         "1:\n\t"
                         "vldrw.u32 q0, [%[from], q1, uxtw #2]\n\t"
                         "vstrw.32 q0, [%[to]], #16\n\t"
                         "add %[from], %[from], %[step], lsl #4\n\t"
                         "letp lr, 1b\n"
                         "2:"
                         : [to] "+&r"(to), [from] "+&r"(from)
                         : [step] "r"(step), [count] "r"(count)
                         : "r4", "cc", "lr", "d0", "d1", "d2", "d3", "memory");
    }
#else
    for (; count > 0; count--) {
        *to = *from;
        to += to_step;
        from += from_step;
    }
#endif
}
