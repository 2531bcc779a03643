/* SPDX-License-Identifier: 0BSD */
#include "copies.h"
#include "kit/batches.h"

/* Loops around runs, with their steps on both sides in bytes; of a run its elements and their steps in elements, or its bytes. */
typedef struct {
    int32_t start; /* in the source */
    int32_t dims[4], source_steps[4], target_steps[4];
    int32_t length, from_step, to_step;
} aidge_helium_moved;

#if AIDGE_HELIUM_ASSEMBLY
/*
 * A loop over vectors: `wide` are the bits of a lane, q1 and q2 the offsets in the source and in the target. `load` and `store` move
 * on the pointer to neighbours, `walk` the others. An access of bytes in lanes of 16 bits takes its address from r0 to r7 alone,
 * unless it has offsets: `to_in` and `from_in` constrain the pointers.
 */
#define AIDGE_HELIUM_RUN(wide, load, store, walk, to_in, from_in)                                       \
    __asm__ volatile("movs r4, #0\n\t"                                                                  \
                     "vidup.u" wide " q2, r4, #1\n\t"                                                   \
                     "vmul.i" wide " q1, q2, %[from_step]\n\t"                                          \
                     "vmul.i" wide " q2, q2, %[to_step]\n\t"                                            \
                     "wlstp." wide " lr, %[count], 2f\n"                                                \
                     "1:\n\t" load "\n\t" store "\n\t" walk "letp lr, 1b\n"                             \
                     "2:"                                                                               \
                     : [to] to_in(to), [from] from_in(from)                                             \
                     : [to_step] "r"(to_step), [from_step] "r"(from_step), [count] "r"(count)           \
                     : "r4", "cc", "lr", "d0", "d1", "d2", "d3", "d4", "d5", "memory")
#define AIDGE_HELIUM_WALK(pointer, shift) "add %[" pointer "], %[" pointer "], %[" pointer "_step], lsl #" shift "\n\t"
#endif

/* to[i * to_step] = from[i * from_step] for i < count; steps are at most 9,362, and not both 1. Offsets fit bytes if steps are at most 17. */
static void aidge_helium_run_bytes(int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step, int32_t count)
{
#if AIDGE_HELIUM_ASSEMBLY
    if ((to_step == 1) && (from_step <= 17)) {
        AIDGE_HELIUM_RUN("8", "vldrb.u8 q0, [%[from], q1]", "vstrb.8 q0, [%[to]], #16", AIDGE_HELIUM_WALK("from", "4"), "+&r", "+&r");
    } else if (to_step == 1) {
        AIDGE_HELIUM_RUN("16", "vldrb.u16 q0, [%[from], q1]", "vstrb.16 q0, [%[to]], #8", AIDGE_HELIUM_WALK("from", "3"), "+&l", "+&r");
    } else if ((from_step == 1) && (to_step <= 17)) {
        AIDGE_HELIUM_RUN("8", "vldrb.u8 q0, [%[from]], #16", "vstrb.8 q0, [%[to], q2]", AIDGE_HELIUM_WALK("to", "4"), "+&r", "+&r");
    } else if (from_step == 1) {
        AIDGE_HELIUM_RUN("16", "vldrb.u16 q0, [%[from]], #8", "vstrb.16 q0, [%[to], q2]", AIDGE_HELIUM_WALK("to", "3"), "+&r", "+&l");
    } else {
        AIDGE_HELIUM_RUN("16", "vldrb.u16 q0, [%[from], q1]", "vstrb.16 q0, [%[to], q2]",
                         AIDGE_HELIUM_WALK("from", "3") AIDGE_HELIUM_WALK("to", "3"), "+&r", "+&r");
    }
#else
    for (; count > 0; count--) {
        *to = *from;
        to += to_step;
        from += from_step;
    }
#endif
}

/* The same of words. */
static void aidge_helium_run_words(float *to, int32_t to_step, const float *from, int32_t from_step, int32_t count)
{
#if AIDGE_HELIUM_ASSEMBLY
    if (to_step == 1) {
        AIDGE_HELIUM_RUN("32", "vldrw.u32 q0, [%[from], q1, uxtw #2]", "vstrw.32 q0, [%[to]], #16", AIDGE_HELIUM_WALK("from", "4"),
                         "+&r", "+&r");
    } else if (from_step == 1) {
        AIDGE_HELIUM_RUN("32", "vldrw.u32 q0, [%[from]], #16", "vstrw.32 q0, [%[to], q2, uxtw #2]", AIDGE_HELIUM_WALK("to", "4"),
                         "+&r", "+&r");
    } else {
        AIDGE_HELIUM_RUN("32", "vldrw.u32 q0, [%[from], q1, uxtw #2]", "vstrw.32 q0, [%[to], q2, uxtw #2]",
                         AIDGE_HELIUM_WALK("from", "4") AIDGE_HELIUM_WALK("to", "4"), "+&r", "+&r");
    }
#else
    for (; count > 0; count--) {
        *to = *from;
        to += to_step;
        from += from_step;
    }
#endif
}
