/* SPDX-License-Identifier: 0BSD */
#include "softmax_exactly.h"

#if AIDGE_HELIUM_ASSEMBLY
/* The largest value of a row, at least `largest`. */
AIDGE_KIT_INLINE int32_t aidge_helium_softmax_largest(const int8_t *x, int32_t length, int32_t largest)
{
    __asm__ volatile("wlstp.8 lr, %[length], 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [%[x]], #16\n\t"
                     "vmaxv.s8 %[largest], q0\n\t"
                     "letp lr, 1b\n"
                     "2:"
                     : [x] "+&l"(x), [largest] "+&r"(largest)
                     : [length] "r"(length)
                     : "lr", "d0", "d1", "memory");
    return largest;
}

/* The sum of a row's exponentials, rounded twice at most; those of 0 stand at `exponentials`. */
AIDGE_KIT_INLINE float aidge_helium_softmax_sum(const int8_t *x, int32_t length, const uint32_t *exponentials)
{
    float low, high;
    __asm__ volatile("mov r12, #0\n\t"
                     "movs r3, #0\n\t"
                     "wlstp.32 lr, %[length], 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [%[x]], #4\n\t"
                     "vldrw.u32 q1, [%[exponentials], q0, uxtw #2]\n\t"
                     "vaddlva.u32 r12, r3, q1\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "vmov %[low], r12\n\t"
                     "vmov %[high], r3\n\t"
                     "vcvt.f32.u32 %[low], %[low]\n\t"
                     "vcvt.f32.u32 %[high], %[high]"
                     : [x] "+&l"(x), [low] "=&t"(low), [high] "=&t"(high)
                     : [length] "r"(length), [exponentials] "r"(exponentials)
                     : "r3", "r12", "lr", "cc", "d0", "d1", "d2", "d3", "memory");
    return low + high * 4294967296.0f;
}

/* The levels of a row; returns how far a quotient lies from its level at most, with all that it may err. */
AIDGE_KIT_INLINE float aidge_helium_softmax_levels(const int8_t *x, int8_t *y, const uint32_t *exponentials,
                                                   float factor, const int32_t *numbers)
{
    __asm__ volatile("ldr r12, [%[numbers], #8]\n\t"
                     "vdup.32 q3, r12\n\t"
                     "ldr r12, [%[numbers], #12]\n\t"
                     "vdup.32 q4, r12\n\t"
                     "ldr r12, [%[numbers], #16]\n\t"
                     "vdup.32 q5, r12\n\t"
                     "vmov r12, %[factor]\n\t"
                     "ldr lr, [%[numbers], #20]\n\t"
                     "vmov.i32 q6, #0\n\t"
                     "wlstp.32 lr, lr, 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [%[x]], #4\n\t"
                     "vldrw.u32 q1, [%[exponentials], q0, uxtw #2]\n\t"
                     "vcvt.f32.u32 q1, q1\n\t"
                     "vmul.f32 q1, q1, r12\n\t"
                     "vadd.f32 q0, q1, q5\n\t"
                     "vsub.f32 q2, q0, q5\n\t"
                     "vabd.f32 q2, q2, q1\n\t"
                     "vfma.f32 q2, q1, q3\n\t"
                     "vmaxnm.f32 q6, q6, q2\n\t"
                     "vmin.s32 q0, q0, q4\n\t"
                     "vstrb.32 q0, [%[y]], #4\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "mov r12, #0\n\t"
                     "vmaxnmv.f32 r12, q6\n\t"
                     "vmov %[factor], r12"
                     : [x] "+&l"(x), [y] "+&l"(y), [factor] "+t"(factor)
                     : [exponentials] "r"(exponentials), [numbers] "r"(numbers)
                     : "r12", "lr", "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12", "d13", "memory");
    return factor;
}
#endif

/*
 * Softmax of rows of neighbouring int8 values in float32; a row of which a quotient lies so near the middle between two levels that
 * float32 does not decide is computed once more in whole numbers.
 *
 * exponentials: [256], that of the largest value of a row last; numbers: softmax_exactly.h says them. Output scales of at least
 * 2^-10. Output and input share no bytes.
 */
static void aidge_helium_softmax_int8(const int8_t *input, int8_t *output, const uint32_t *exponentials, const int32_t *numbers,
                                      int32_t rows)
{
    const int32_t length = numbers[AIDGE_HELIUM_SOFTMAX_LENGTH];
#if AIDGE_HELIUM_ASSEMBLY
    for (; rows > 0; rows--) {
        const uint32_t *const of_0 =
            exponentials + AIDGE_HELIUM_SOFTMAX_LAST - aidge_helium_softmax_largest(input, length, -128);
        float factor;
        (void)memcpy(&factor, numbers + AIDGE_HELIUM_SOFTMAX_SCALE, sizeof factor);
        factor /= aidge_helium_softmax_sum(input, length, of_0);
        if (aidge_helium_softmax_levels(input, output, of_0, factor, numbers) >= AIDGE_HELIUM_SOFTMAX_DECIDED) {
            aidge_helium_softmax_exactly(input, output, exponentials, numbers, 1, 1, length);
        }
        input += length;
        output += length;
    }
#else
    aidge_helium_softmax_exactly(input, output, exponentials, numbers, rows, 1, length);
#endif
}
