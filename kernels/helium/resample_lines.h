/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* Images of rows of `count` elements; between two of the source lie `step` elements, a row of outputs has `outputs`. */
typedef struct {
    int32_t images, step, rows, count, outputs;
} aidge_helium_lines_shape;

/* line = two rows of the input, each times its share; row: {offset, share, offset, share}. */
#if AIDGE_HELIUM_ASSEMBLY
AIDGE_HELIUM_NAKED void aidge_helium_blend_rows(int16_t *line AIDGE_HELIUM_UNUSED, const int8_t *input AIDGE_HELIUM_UNUSED,
                                                const int32_t *row AIDGE_HELIUM_UNUSED, int32_t count AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4-r7, r8, lr}\n\t"
                     "ldm r2, {r4, r5, r6, r7}\n\t"
                     "add r4, r4, r1\n\t"
                     "add r6, r6, r1\n\t"
                     "wlstp.16 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s16 q0, [r4], #8\n\t"
                     "vldrb.s16 q1, [r6], #8\n\t"
                     "vmul.i16 q0, q0, r5\n\t"
                     "vmla.s16 q0, q1, r7\n\t"
                     "vstrh.16 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r7, r8, pc}");
}
#else
static void aidge_helium_blend_rows(int16_t *line, const int8_t *input, const int32_t *row, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        line[i] = (int16_t)(input[row[0] + i] * row[1] + input[row[2] + i] * row[3]);
    }
}
#endif
