/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_columns.h"
#include "lines.h"

/*
 * Means of int8 windows in float32, where many lie in the middle between two levels but for its rounding: values times their
 * scale are added up by columns to a line (lines.h), columns one after another.
 */
typedef struct {
    aidge_kit_window2d shape;
    int32_t zero_point, scale; /* of the input; the scale as the bits of a float */
    int32_t kinds;             /* of columns: what their windows see and count */
    int32_t segments;          /* of neighbouring columns of one kind: {pixels, kind} */
} aidge_helium_float_means;

#if AIDGE_HELIUM_ASSEMBLY
/* Words of a kind of rows and one of columns, as the generated function for runs reads them. */
#define AIDGE_HELIUM_FLOAT_MEAN_KIND 8

/* line = a row of values times their scale. numbers: {zero point, scale}. */
AIDGE_HELIUM_NAKED void aidge_helium_float_row(float *line AIDGE_HELIUM_UNUSED, const int8_t *row AIDGE_HELIUM_UNUSED,
                                               const int32_t *numbers AIDGE_HELIUM_UNUSED, int32_t count AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4, lr}\n\t"
                     "ldrd r2, r4, [r2]\n\t"
                     "rsb r2, r2, #0\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [r1], #4\n\t"
                     "vadd.i32 q0, q0, r2\n\t"
                     "vcvt.f32.s32 q0, q0\n\t"
                     "vmul.f32 q0, q0, r4\n\t"
                     "vstrw.32 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}");
}

/* line = a row of values times their scale, plus those of the row a step behind it. numbers: {zero point, scale, step}. */
AIDGE_HELIUM_NAKED void aidge_helium_float_rows(float *line AIDGE_HELIUM_UNUSED, const int8_t *row AIDGE_HELIUM_UNUSED,
                                                const int32_t *numbers AIDGE_HELIUM_UNUSED, int32_t count AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4-r6, lr}\n\t"
                     "ldm r2, {r2, r4, r5}\n\t"
                     "rsb r2, r2, #0\n\t"
                     "add r5, r5, r1\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [r1], #4\n\t"
                     "vldrb.s32 q1, [r5], #4\n\t"
                     "vadd.i32 q0, q0, r2\n\t"
                     "vadd.i32 q1, q1, r2\n\t"
                     "vcvt.f32.s32 q0, q0\n\t"
                     "vcvt.f32.s32 q1, q1\n\t"
                     "vmul.f32 q0, q0, r4\n\t"
                     "vmul.f32 q1, q1, r4\n\t"
                     "vadd.f32 q0, q0, q1\n\t"
                     "vstrw.32 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r6, pc}");
}

/* line += a row of values times their scale. */
AIDGE_HELIUM_NAKED void aidge_helium_add_float_row(float *line AIDGE_HELIUM_UNUSED, const int8_t *row AIDGE_HELIUM_UNUSED,
                                                   const int32_t *numbers AIDGE_HELIUM_UNUSED,
                                                   int32_t count AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4, lr}\n\t"
                     "ldrd r2, r4, [r2]\n\t"
                     "rsb r2, r2, #0\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [r1], #4\n\t"
                     "vadd.i32 q0, q0, r2\n\t"
                     "vcvt.f32.s32 q0, q0\n\t"
                     "vmul.f32 q0, q0, r4\n\t"
                     "vldrw.u32 q1, [r0]\n\t"
                     "vadd.f32 q0, q1, q0\n\t"
                     "vstrw.32 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}");
}

/* line = the sums of what the columns of these rows hold. */
static void aidge_helium_float_line(float *line, const int8_t *from, int32_t rows, int32_t count, const int32_t *numbers)
{
    if (rows == 1) {
        aidge_helium_float_row(line, from, numbers, count);
        return;
    }
    aidge_helium_float_rows(line, from, numbers, count);
    for (rows -= 2, from += 2 * numbers[2]; rows > 0; rows--) {
        aidge_helium_add_float_row(line, from, numbers, count);
        from += numbers[2];
    }
}
#endif
