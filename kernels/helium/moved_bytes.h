/* SPDX-License-Identifier: 0BSD */
#include "strided_bytes.h"
#include "moved.h"

#if AIDGE_HELIUM_ASSEMBLY
/* A run by gathers and scatters; run: its length, its steps in the source and in the target. */
AIDGE_HELIUM_NAKED void aidge_helium_move_run_bytes(int8_t *to AIDGE_HELIUM_UNUSED, const int8_t *from AIDGE_HELIUM_UNUSED,
                                                  const int32_t *run AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4, lr}\n\t"
                     "ldm r2, {r2, r3, r12}\n\t"
                     "movs r4, #0\n\t"
                     "vidup.u16 q2, r4, #1\n\t"
                     "vmul.i16 q1, q2, r3\n\t"
                     "vmul.i16 q2, q2, r12\n\t"
                     "wlstp.16 lr, r2, 2f\n"
                     "1:\n\t"
                     "vldrb.u16 q0, [r1, q1]\n\t"
                     "vstrb.16 q0, [r0, q2]\n\t"
                     "add r1, r1, r3, lsl #3\n\t"
                     "add r0, r0, r12, lsl #3\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}");
}
#endif

/* Bytes to other places. */
static void aidge_helium_move_bytes(const void *source, void *target, const aidge_helium_moved *shape)
{
    const int8_t *const input = (const int8_t *)source;
    int8_t *const output = (int8_t *)target;
    const int32_t *const from_steps = shape->source_steps;
    const int32_t *const to_steps = shape->target_steps;
    const int32_t from_step = shape->run[1], to_step = shape->run[2];
    int32_t a, b, c, d;
    for (a = 0; a < shape->dims[0]; a++) {
        for (b = 0; b < shape->dims[1]; b++) {
            for (c = 0; c < shape->dims[2]; c++) {
                const int8_t *from = input + shape->start + a * from_steps[0] + b * from_steps[1] + c * from_steps[2];
                int8_t *to = output + a * to_steps[0] + b * to_steps[1] + c * to_steps[2];
                for (d = 0; d < shape->dims[3]; d++) {
                    if ((from_step == 1) && (to_step == 1)) {
                        aidge_helium_copy(to, from, shape->run[0]);
#if AIDGE_HELIUM_ASSEMBLY
                    } else if ((from_step > 1) && (to_step > 1)) {
                        aidge_helium_move_run_bytes(to, from, shape->run);
#endif
                    } else {
                        aidge_helium_strided_bytes(to, to_step, from, from_step, shape->run[0]);
                    }
                    from += from_steps[3];
                    to += to_steps[3];
                }
            }
        }
    }
}
