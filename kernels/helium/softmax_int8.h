/* SPDX-License-Identifier: 0BSD */
#include "helium.h"
#include "mve.h"
#include "kit/softmax.h"

/* The levels of a row, one by one. exponentials: at the largest value of the row. */
AIDGE_KIT_NOINLINE void aidge_helium_softmax_row(const int8_t *x, int8_t *y, const uint32_t *exponentials, int32_t length,
                                                 int32_t zero_point, const aidge_kit_row_quotient *by)
{
    for (; length > 0; length--) {
        const uint32_t level =
            by->shift > 31 ? 0u : aidge_kit_row_level(exponentials[-*x], by, by->factor, by->half, by->shift);
        const int32_t stored = (int32_t)level + zero_point;
        *y++ = (int8_t)(stored > 127 ? 127 : stored);
        x++;
    }
}

#if AIDGE_HELIUM_ASSEMBLY
/* What makes levels of four exponentials. */
typedef struct {
    uint32x4_t factor;
    int32x4_t down;
    uint32_t half;
    int32_t zero_point;
} aidge_helium_softmax_levels;

/* Four levels; `above`: in each lane the least that a quotient lies above where the band around a middle begins. */
AIDGE_KIT_INLINE int32x4_t aidge_helium_softmax_four(uint32x4_t terms, const aidge_helium_softmax_levels *by, uint32x4_t *above)
{
    const uint32x4_t rounded = vaddq_n_u32(vmulhq_u32(terms, by->factor), by->half);
    const uint32x4_t seen = vandq_u32(vaddq_n_u32(rounded, AIDGE_KIT_SOFTMAX_BAND), vdupq_n_u32(2u * by->half - 1u));
    *above = vminq_u32(*above, seen);
    return vminq_s32(vaddq_n_s32((int32x4_t)vshlq_u32(rounded, by->down), by->zero_point), vdupq_n_s32(127));
}
#endif

/*
 * Softmax of rows of neighbouring int8 values: with T[k] = exponentials[k] at k = (largest value of the row) - x and S the sum of
 * T over the row, output = saturate(rint_half_even((T << shift) / (S * factor)) + zero point).
 *
 * exponentials: [256]; quotient: {shift, factor}; zero_point: one number. Four values at a time, none of which may lie beside the
 * middle between two levels; else the row is computed again, one by one.
 */
static void aidge_helium_softmax_int8(const int8_t *input, int8_t *output, const uint32_t *exponentials, const uint64_t *quotient,
                                      const int32_t *zero_point, int32_t rows, int32_t length)
{
    for (; rows > 0; rows--) {
        aidge_kit_row_quotient by;
        uint64_t sum = 0;
        uint32_t nearest = 0;
        int32_t largest = -128;
        int32_t i;
#if AIDGE_HELIUM_ASSEMBLY
        const int32_t whole = length & ~3;
        const mve_pred16_t rest = vctp32q((uint32_t)(length - whole)); /* lanes behind the last whole vector */
        int8_t top = -128;
        for (i = 0; i + 16 <= length; i += 16) {
            top = vmaxvq_s8(top, vldrbq_s8(input + i));
        }
        top = vmaxvq_p_s8(top, vldrbq_z_s8(input + i, vctp8q((uint32_t)(length - i))), vctp8q((uint32_t)(length - i)));
        largest = top;
        for (i = 0; i < whole; i += 4) {
            const int32x4_t below = vsubq_s32(vdupq_n_s32(largest), vldrbq_s32(input + i));
            sum = vaddlvaq_u32(sum, vldrwq_gather_shifted_offset_u32(exponentials, (uint32x4_t)below));
        }
        if (whole < length) {
            const int32x4_t below = vsubq_s32(vdupq_n_s32(largest), vldrbq_z_s32(input + whole, rest));
            sum = vaddlvaq_p_u32(sum, vldrwq_gather_shifted_offset_z_u32(exponentials, (uint32x4_t)below, rest), rest);
        }
        by = aidge_kit_row_quotient_of(aidge_kit_multiply(sum, quotient[1]), (int32_t)quotient[0]);
        if (by.shift <= 31) {
            const aidge_helium_softmax_levels levels = {vdupq_n_u32(by.factor), vdupq_n_s32(-by.shift), by.half, *zero_point};
            uint32x4_t above = vdupq_n_u32(0xFFFFFFFFu);
            for (i = 0; i < whole; i += 4) {
                const int32x4_t below = vsubq_s32(vdupq_n_s32(largest), vldrbq_s32(input + i));
                const uint32x4_t terms = vldrwq_gather_shifted_offset_u32(exponentials, (uint32x4_t)below);
                vstrbq_s32(output + i, aidge_helium_softmax_four(terms, &levels, &above));
            }
            if (whole < length) {
                const int32x4_t below = vsubq_s32(vdupq_n_s32(largest), vldrbq_z_s32(input + whole, rest));
                const uint32x4_t terms = vldrwq_gather_shifted_offset_z_u32(exponentials, (uint32x4_t)below, rest);
                vstrbq_p_s32(output + whole, aidge_helium_softmax_four(terms, &levels, &above), rest);
            }
            nearest = vminvq_u32(0xFFFFFFFFu, above);
        }
#else
        for (i = 0; i < length; i++) {
            largest = input[i] > largest ? input[i] : largest;
        }
        for (i = 0; i < length; i++) {
            sum += exponentials[largest - input[i]];
        }
        by = aidge_kit_row_quotient_of(aidge_kit_multiply(sum, quotient[1]), (int32_t)quotient[0]);
#endif
        if (nearest < 2u * AIDGE_KIT_SOFTMAX_BAND) {
            aidge_helium_softmax_row(input, output, exponentials + largest, length, *zero_point, &by);
        }
        input += length;
        output += length;
    }
}
