/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/*
 * A loop over vectors: `wide` are the bits of a lane, `load` and `store` the accesses, the pointer `walks` by 2 to the power of
 * `shift` steps. An access that widens or narrows takes its address from r0 to r7 alone: `to_in` and `from_in` constrain the pointers.
 */
#define AIDGE_HELIUM_STRIDED(wide, load, store, walks, shift, to_in, from_in)                   \
    __asm__ volatile("movs r4, #0\n\t"                                                          \
                     "vidup.u" wide " q1, r4, #1\n\t"                                           \
                     "vmul.i" wide " q1, q1, %[step]\n\t"                                       \
                     "wlstp." wide " lr, %[count], 2f\n"                                        \
                     "1:\n\t"                                                                   \
                     "vldr" load "\n\t"                                                         \
                     "vstr" store "\n\t"                                                        \
                     "add %[" walks "], %[" walks "], %[step], lsl #" shift "\n\t"              \
                     "letp lr, 1b\n"                                                            \
                     "2:"                                                                       \
                     : [to] to_in(to), [from] from_in(from)                                     \
                     : [step] "r"(step), [count] "r"(count)                                     \
                     : "r4", "cc", "lr", "d0", "d1", "d2", "d3", "memory")

/* to[i * to_step] = from[i * from_step] for i < count; one step is 1, the other at most 9,362. Offsets fit bytes up to 17. */
AIDGE_KIT_INLINE void aidge_helium_strided_bytes(int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step, int32_t count)
{
    const int32_t step = to_step > from_step ? to_step : from_step;
    if ((to_step > 1) && (step <= 17)) {
        AIDGE_HELIUM_STRIDED("8", "b.u8 q0, [%[from]], #16", "b.8 q0, [%[to], q1]", "to", "4", "+&r", "+&r");
    } else if (to_step > 1) {
        AIDGE_HELIUM_STRIDED("16", "b.u16 q0, [%[from]], #8", "b.16 q0, [%[to], q1]", "to", "3", "+&r", "+&l");
    } else if (step <= 17) {
        AIDGE_HELIUM_STRIDED("8", "b.u8 q0, [%[from], q1]", "b.8 q0, [%[to]], #16", "from", "4", "+&r", "+&r");
    } else {
        AIDGE_HELIUM_STRIDED("16", "b.u16 q0, [%[from], q1]", "b.16 q0, [%[to]], #8", "from", "3", "+&l", "+&r");
    }
}

/* The same of words; one step is 1. */
AIDGE_KIT_INLINE void aidge_helium_strided_words(float *to, int32_t to_step, const float *from, int32_t from_step, int32_t count)
{
    const int32_t step = to_step > from_step ? to_step : from_step;
    if (to_step > 1) {
        AIDGE_HELIUM_STRIDED("32", "w.u32 q0, [%[from]], #16", "w.32 q0, [%[to], q1, uxtw #2]", "to", "4", "+&r", "+&r");
    } else {
        AIDGE_HELIUM_STRIDED("32", "w.u32 q0, [%[from], q1, uxtw #2]", "w.32 q0, [%[to]], #16", "from", "4", "+&r", "+&r");
    }
}
