/* SPDX-License-Identifier: 0BSD */
#include "kit/resample_lanes.h"
#include "mve.h"

#if AIDGE_HELIUM_ASSEMBLY
/* Levels of eight sums, as the low bytes of halfwords. */
AIDGE_KIT_INLINE int16x8_t aidge_helium_lanes_even(uint16x8_t sum, const aidge_kit_lanes_levels *levels)
{
    const uint16x8_t turned =
        vandq_u16(veorq_u16(vshlq_r_u16(sum, -levels->shift), vdupq_n_u16((uint16_t)levels->flipped)), vdupq_n_u16(1));
    /* A sum is below 256 << shift: less 128 << shift it is the level's, not that of the level + 128, with a sign. */
    sum = vaddq_u16(vaddq_n_u16(sum, (uint16_t)(levels->start - (128 << levels->shift))), turned);
    return vshlq_r_s16(vreinterpretq_s16_u16(sum), -levels->shift);
}

AIDGE_KIT_INLINE int16x8_t aidge_helium_lanes_scaled(uint16x8_t sum, const aidge_kit_lanes_levels *levels)
{
    const int32x4_t factor = vdupq_n_s32(levels->multiplier);
    int32x4_t low = vmlasq_n_s32(vreinterpretq_s32_u32(vmovlbq_u16(sum)), factor, levels->start);
    int32x4_t high = vmlasq_n_s32(vreinterpretq_s32_u32(vmovltq_u16(sum)), factor, levels->start);
    int16x8_t level = vqmovnbq_s32(vdupq_n_s16(0), vshlq_r_s32(low, -levels->shift));
    level = vqmovntq_s32(level, vshlq_r_s32(high, -levels->shift));
    return vreinterpretq_s16_s8(vqmovnbq_s16(vdupq_n_s8(0), level));
}

/*
 * A row of outputs, eight elements of a position at a time. The sums of (value + 128) * share are below 2^16: they begin with
 * 128 * the sum of all shares, and may wrap around in between.
 */
AIDGE_KIT_INLINE void aidge_helium_lanes_columns(const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns,
                                                 const aidge_kit_lanes_levels *levels, int32_t is_even)
{
    const aidge_kit_lanes_levels own = *levels;
    const int8_t *const upper = row->upper;
    const int8_t *const lower = row->lower;
    const int32_t *const end = row->end;
    const uint32_t above = row->above, below = row->below;
    const uint32_t whole = (above + below) * (uint32_t)(columns[1] + columns[3]);
    const uint16_t begin = (uint16_t)(128u * whole);
    const int32_t run = row->run;
    for (; columns != end; columns += 4) {
        const int8_t *a = upper + columns[0];
        const int8_t *b = upper + columns[2];
        const int8_t *c = lower + columns[0];
        const int8_t *d = lower + columns[2];
        const uint16_t of_a = (uint16_t)(above * (uint32_t)columns[1]);
        const uint16_t of_b = (uint16_t)(above * (uint32_t)columns[3]);
        const uint16_t of_c = (uint16_t)(below * (uint32_t)columns[1]);
        const uint16_t of_d = (uint16_t)(below * (uint32_t)columns[3]);
        int32_t left;
        for (left = run; left >= 8; left -= 8) {
            uint16x8_t sum = vdupq_n_u16(begin);
            sum = vmlaq_n_u16(sum, vreinterpretq_u16_s16(vldrbq_s16(a)), of_a);
            a += 8;
            sum = vmlaq_n_u16(sum, vreinterpretq_u16_s16(vldrbq_s16(b)), of_b);
            b += 8;
            sum = vmlaq_n_u16(sum, vreinterpretq_u16_s16(vldrbq_s16(c)), of_c);
            c += 8;
            sum = vmlaq_n_u16(sum, vreinterpretq_u16_s16(vldrbq_s16(d)), of_d);
            d += 8;
            vstrbq_s16(output, is_even != 0 ? aidge_helium_lanes_even(sum, &own) : aidge_helium_lanes_scaled(sum, &own));
            output += 8;
        }
        if (left != 0) {
            const mve_pred16_t valid = vctp16q((uint32_t)left);
            uint16x8_t sum = vdupq_n_u16(begin);
            sum = vmlaq_n_u16(sum, vreinterpretq_u16_s16(vldrbq_z_s16(a, valid)), of_a);
            sum = vmlaq_n_u16(sum, vreinterpretq_u16_s16(vldrbq_z_s16(b, valid)), of_b);
            sum = vmlaq_n_u16(sum, vreinterpretq_u16_s16(vldrbq_z_s16(c, valid)), of_c);
            sum = vmlaq_n_u16(sum, vreinterpretq_u16_s16(vldrbq_z_s16(d, valid)), of_d);
            vstrbq_p_s16(output, is_even != 0 ? aidge_helium_lanes_even(sum, &own) : aidge_helium_lanes_scaled(sum, &own),
                         valid);
            output += left;
        }
    }
}
#endif

/* Resizing along rows and columns with two taps each; the arguments are those of ref's resample_lanes_int8.h. */
AIDGE_KIT_INLINE void aidge_helium_resample_lanes(const int8_t *input, int8_t *output, const int32_t *rows,
                                                  const int32_t *columns, const aidge_kit_lanes_levels *levels,
                                                  const aidge_kit_lanes_shape *shape, int32_t is_even)
{
    int32_t image, row;
    for (image = 0; image < shape->images; image++) {
        for (row = 0; row < shape->rows; row++) {
            const aidge_kit_lanes_row place = aidge_kit_lanes_row_of(input, rows, row, columns, shape);
#if AIDGE_HELIUM_ASSEMBLY
            aidge_helium_lanes_columns(&place, output, columns, levels, is_even);
#else
            aidge_kit_lanes_columns(&place, output, columns, levels, is_even != 0 ? 1 : 2);
#endif
            output += shape->columns * shape->run;
        }
        input += shape->step;
    }
}

AIDGE_KIT_NOINLINE void aidge_helium_resample_lanes_even(const int8_t *input, int8_t *output, const int32_t *rows,
                                                         const int32_t *columns, const aidge_kit_lanes_levels *levels,
                                                         const aidge_kit_lanes_shape *shape)
{
    aidge_helium_resample_lanes(input, output, rows, columns, levels, shape, 1);
}

AIDGE_KIT_NOINLINE void aidge_helium_resample_lanes_scaled(const int8_t *input, int8_t *output, const int32_t *rows,
                                                           const int32_t *columns, const aidge_kit_lanes_levels *levels,
                                                           const aidge_kit_lanes_shape *shape)
{
    aidge_helium_resample_lanes(input, output, rows, columns, levels, shape, 0);
}
