/* SPDX-License-Identifier: 0BSD */
#include "kit/resample_lanes.h"
#include "mve.h"

#if AIDGE_HELIUM_ASSEMBLY
/* Sums of 16 bits to levels: halved, ties to the even one. */
AIDGE_KIT_INLINE int16x8_t aidge_helium_lanes_levels(int16x8_t sum, int16_t start, int32_t right, int16x8_t flipped)
{
    const int16x8_t turned = vandq_s16(veorq_s16(vshlq_r_s16(sum, right), flipped), vdupq_n_s16(1));
    return vshlq_r_s16(vaddq_s16(vaddq_n_s16(sum, start), turned), right);
}
#endif

/* A run of one output position, eight at a time. */
AIDGE_KIT_INLINE void aidge_helium_lanes_run(const int8_t *const *from, const uint32_t *shares, int8_t *output, int32_t run,
                                             const aidge_kit_lanes_levels *levels)
{
    const int8_t *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    const int16_t of_a = (int16_t)shares[0], of_b = (int16_t)shares[1], of_c = (int16_t)shares[2], of_d = (int16_t)shares[3];
    const int16_t start = (int16_t)levels->start;
    const int32_t shift = levels->shift, flipped = levels->flipped & 1;
#if AIDGE_HELIUM_ASSEMBLY
    const int16x8_t turns = vdupq_n_s16((int16_t)flipped);
    for (; run >= 8; run -= 8) {
        int16x8_t sum = vmulq_n_s16(vldrbq_s16(a), of_a);
        sum = vmlaq_n_s16(sum, vldrbq_s16(b), of_b);
        sum = vmlaq_n_s16(sum, vldrbq_s16(c), of_c);
        sum = vmlaq_n_s16(sum, vldrbq_s16(d), of_d);
        vstrbq_s16(output, aidge_helium_lanes_levels(sum, start, -shift, turns));
        a += 8;
        b += 8;
        c += 8;
        d += 8;
        output += 8;
    }
    if (run > 0) {
        const mve_pred16_t valid = vctp16q((uint32_t)run);
        int16x8_t sum = vmulq_n_s16(vldrbq_z_s16(a, valid), of_a);
        sum = vmlaq_n_s16(sum, vldrbq_z_s16(b, valid), of_b);
        sum = vmlaq_n_s16(sum, vldrbq_z_s16(c, valid), of_c);
        sum = vmlaq_n_s16(sum, vldrbq_z_s16(d, valid), of_d);
        vstrbq_p_s16(output, aidge_helium_lanes_levels(sum, start, -shift, turns), valid);
    }
#else
    for (; run > 0; run--) {
        const int32_t sum = *a++ * of_a + *b++ * of_b + *c++ * of_c + *d++ * of_d;
        *output++ = (int8_t)((sum + start + (((sum >> shift) ^ flipped) & 1)) >> shift);
    }
#endif
}

/* A row of outputs. */
AIDGE_KIT_NOINLINE void aidge_helium_lanes_row(const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns,
                                               const aidge_kit_lanes_levels *levels)
{
    const aidge_kit_lanes_levels own = *levels;
    const int32_t run = row->run;
    for (; columns != row->end; columns += 4) {
        const int8_t *from[4];
        uint32_t shares[4];
        aidge_kit_lanes_position(from, shares, row, columns);
        aidge_helium_lanes_run(from, shares, output, run, &own);
        output += run;
    }
}

/* Resizing along rows and columns with two taps each, within one scale whose denominators are powers of two. */
static void aidge_helium_resample_lanes(const int8_t *input, int8_t *output, const int32_t *rows, const int32_t *columns,
                                        const aidge_kit_lanes_levels *levels, const aidge_kit_lanes_shape *shape)
{
    int32_t image, row;
    for (image = 0; image < shape->images; image++) {
        for (row = 0; row < shape->rows; row++) {
            const aidge_kit_lanes_row found = aidge_kit_lanes_row_of(input, rows, row, columns, shape);
            aidge_helium_lanes_row(&found, output, columns, levels);
            output += shape->columns * shape->run;
        }
        input += shape->step;
    }
}
