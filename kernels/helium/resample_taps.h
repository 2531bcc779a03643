/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* Images of rows of `count` elements; between two of the source lie `step` elements, a row of outputs has `outputs`. */
typedef struct {
    int32_t images, step, rows, count, outputs;
} aidge_helium_taps_shape;

/*
 * numbers: how many columns a row of outputs has, of `run` elements each, or where neighbours are gathered how many elements; what
 * a sum begins with; its factor as bits of a float; the zero point; run, and run less what its whole vectors of four hold.
 */
#if AIDGE_HELIUM_ASSEMBLY
/* line = four rows of the input, each times its share; row: four offsets, four shares. */
AIDGE_HELIUM_NAKED void aidge_helium_blend_4_rows(int32_t *line AIDGE_HELIUM_UNUSED, const int8_t *input AIDGE_HELIUM_UNUSED,
                                                  const int32_t *row AIDGE_HELIUM_UNUSED, int32_t count AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldm r2, {r4-r11}\n\t"
                     "add r4, r4, r1\n\t"
                     "add r5, r5, r1\n\t"
                     "add r6, r6, r1\n\t"
                     "add r7, r7, r1\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [r4], #4\n\t"
                     "vldrb.s32 q1, [r5], #4\n\t"
                     "vmul.i32 q0, q0, r8\n\t"
                     "vmla.s32 q0, q1, r9\n\t"
                     "vldrb.s32 q1, [r6], #4\n\t"
                     "vldrb.s32 q2, [r7], #4\n\t"
                     "vmla.s32 q0, q1, r10\n\t"
                     "vmla.s32 q0, q2, r11\n\t"
                     "vstrw.32 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r11, pc}");
}

/* A row of outputs, whose neighbours lie side by side; columns: of each four offsets in bytes, four shares. */
AIDGE_HELIUM_NAKED void aidge_helium_taps_of_runs(int8_t *y AIDGE_HELIUM_UNUSED, const int32_t *line AIDGE_HELIUM_UNUSED,
                                                  const int32_t *columns AIDGE_HELIUM_UNUSED,
                                                  const int32_t *numbers AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "vpush {d8-d13}\n\t"
                     "ldm r3, {r3-r8}\n\t"
                     "vdup.32 q4, r4\n\t"
                     "vdup.32 q5, r5\n\t"
                     "vdup.32 q6, r6\n\t"
                     "mov r12, r7\n\t"
                     "push {r7, r8}\n"
                     "1:\n\t"
                     "ldm r2!, {r4-r11}\n\t"
                     "add r4, r4, r1\n\t"
                     "add r5, r5, r1\n\t"
                     "add r6, r6, r1\n\t"
                     "add r7, r7, r1\n\t"
                     "wlstp.32 lr, r12, 3f\n"
                     "2:\n\t"
                     "vmov q0, q4\n\t"
                     "vldrw.u32 q1, [r4], #16\n\t"
                     "vldrw.u32 q2, [r5], #16\n\t"
                     "vmla.s32 q0, q1, r8\n\t"
                     "vmla.s32 q0, q2, r9\n\t"
                     "vldrw.u32 q1, [r6], #16\n\t"
                     "vldrw.u32 q2, [r7], #16\n\t"
                     "vmla.s32 q0, q1, r10\n\t"
                     "vmla.s32 q0, q2, r11\n\t"
                     "vcvt.f32.s32 q0, q0\n\t"
                     "vmul.f32 q0, q0, q5\n\t"
                     "vcvtn.s32.f32 q0, q0\n\t"
                     "vqadd.s32 q0, q0, q6\n\t"
                     "vqmovnb.s32 q0, q0\n\t"
                     "vqmovnb.s16 q0, q0\n\t"
                     "vstrb.32 q0, [r0], #4\n\t"
                     "letp lr, 2b\n"
                     "3:\n\t"
                     "ldr lr, [sp, #4]\n\t"
                     "add r0, r0, lr\n\t"
                     "subs r3, #1\n\t"
                     "bne 1b\n\t"
                     "add sp, #8\n\t"
                     "vpop {d8-d13}\n\t"
                     "pop {r4-r11, pc}");
}

/* The same one by one; columns: for each four outputs of each of four neighbours the places and the shares. */
AIDGE_HELIUM_NAKED void aidge_helium_taps_gathered(int8_t *y AIDGE_HELIUM_UNUSED, const int32_t *line AIDGE_HELIUM_UNUSED,
                                                   const int16_t *columns AIDGE_HELIUM_UNUSED,
                                                   const int32_t *numbers AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4-r7, lr}\n\t"
                     "ldm r3, {r4-r7}\n\t"
                     "wlstp.32 lr, r4, 2f\n"
                     "1:\n\t"
                     "vdup.32 q0, r5\n\t"
                     "vldrh.u32 q1, [r2], #8\n\t"
                     "vldrw.u32 q2, [r1, q1, uxtw #2]\n\t"
                     "vldrh.s32 q1, [r2], #8\n\t"
                     "vmul.i32 q2, q2, q1\n\t"
                     "vadd.i32 q0, q0, q2\n\t"
                     "vldrh.u32 q1, [r2], #8\n\t"
                     "vldrw.u32 q2, [r1, q1, uxtw #2]\n\t"
                     "vldrh.s32 q1, [r2], #8\n\t"
                     "vmul.i32 q2, q2, q1\n\t"
                     "vadd.i32 q0, q0, q2\n\t"
                     "vldrh.u32 q1, [r2], #8\n\t"
                     "vldrw.u32 q2, [r1, q1, uxtw #2]\n\t"
                     "vldrh.s32 q1, [r2], #8\n\t"
                     "vmul.i32 q2, q2, q1\n\t"
                     "vadd.i32 q0, q0, q2\n\t"
                     "vldrh.u32 q1, [r2], #8\n\t"
                     "vldrw.u32 q2, [r1, q1, uxtw #2]\n\t"
                     "vldrh.s32 q1, [r2], #8\n\t"
                     "vmul.i32 q2, q2, q1\n\t"
                     "vadd.i32 q0, q0, q2\n\t"
                     "vcvt.f32.s32 q0, q0\n\t"
                     "vmul.f32 q0, q0, r6\n\t"
                     "vcvtn.s32.f32 q0, q0\n\t"
                     "vqadd.s32 q0, q0, r7\n\t"
                     "vqmovnb.s32 q0, q0\n\t"
                     "vqmovnb.s16 q0, q0\n\t"
                     "vstrb.32 q0, [r0], #4\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r7, pc}");
}
#else
static void aidge_helium_blend_4_rows(int32_t *line, const int8_t *input, const int32_t *row, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; i++) {
        line[i] = input[row[0] + i] * row[4] + input[row[1] + i] * row[5] + input[row[2] + i] * row[6] + input[row[3] + i] * row[7];
    }
}

static int8_t aidge_helium_taps_level(int32_t sum, const int32_t *numbers)
{
    const aidge_kit_levels levels = {-128 - numbers[3], 127 - numbers[3], numbers[3]};
    float multiplier;
    (void)memcpy(&multiplier, numbers + 2, sizeof multiplier);
    return aidge_kit_requantize(sum, multiplier, levels);
}

static void aidge_helium_taps_of_runs(int8_t *y, const int32_t *line, const int32_t *columns, const int32_t *numbers)
{
    int32_t column, i, tap;
    for (column = 0; column < numbers[0]; column++) {
        for (i = 0; i < numbers[4]; i++) {
            int32_t sum = numbers[1];
            for (tap = 0; tap < 4; tap++) {
                sum += line[columns[tap] / 4 + i] * columns[4 + tap];
            }
            *y++ = aidge_helium_taps_level(sum, numbers);
        }
        columns += 8;
    }
}

static void aidge_helium_taps_gathered(int8_t *y, const int32_t *line, const int16_t *columns, const int32_t *numbers)
{
    int32_t i, tap;
    for (i = 0; i < numbers[0]; i++) {
        const int16_t *const table = columns + i / 4 * 32 + i % 4;
        int32_t sum = numbers[1];
        for (tap = 0; tap < 4; tap++) {
            sum += line[(uint16_t)table[8 * tap]] * table[8 * tap + 4];
        }
        *y++ = aidge_helium_taps_level(sum, numbers);
    }
}
#endif

/* Resizing by whole shares of up to four rows, then of up to four neighbours. The line: `count` sums. */
static void aidge_helium_resample_runs_of_taps(const int8_t *input, int8_t *output, void *line, const int32_t *rows,
                                               const int32_t *columns, const int32_t *numbers,
                                               const aidge_helium_taps_shape *shape)
{
    int32_t image, row;
    for (image = 0; image < shape->images; image++) {
        for (row = 0; row < shape->rows; row++) {
            aidge_helium_blend_4_rows((int32_t *)line, input, rows + 8 * row, shape->count);
            aidge_helium_taps_of_runs(output, (const int32_t *)line, columns, numbers);
            output += shape->outputs;
        }
        input += shape->step;
    }
}

/* The same where neighbours are gathered. */
static void aidge_helium_resample_gathered_taps(const int8_t *input, int8_t *output, void *line, const int32_t *rows,
                                                const int16_t *columns, const int32_t *numbers,
                                                const aidge_helium_taps_shape *shape)
{
    int32_t image, row;
    for (image = 0; image < shape->images; image++) {
        for (row = 0; row < shape->rows; row++) {
            aidge_helium_blend_4_rows((int32_t *)line, input, rows + 8 * row, shape->count);
            aidge_helium_taps_gathered(output, (const int32_t *)line, columns, numbers);
            output += shape->outputs;
        }
        input += shape->step;
    }
}
