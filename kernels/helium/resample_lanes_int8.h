/* SPDX-License-Identifier: 0BSD */
#include "kit/resample_lanes.h"
#include "mve.h"

/* A run of one output position, eight at a time: sums of 16 bits, halved until they are levels, ties to the even one. */
AIDGE_KIT_INLINE void aidge_helium_lanes_run(const int8_t *const *from, const uint32_t *shares, int8_t *output, int32_t run,
                                             const aidge_kit_lanes_levels *levels)
{
    const int8_t *const a = from[0], *const b = from[1], *const c = from[2], *const d = from[3];
    const int16_t of_a = (int16_t)shares[0], of_b = (int16_t)shares[1], of_c = (int16_t)shares[2], of_d = (int16_t)shares[3];
    const int16_t start = (int16_t)levels->start;
    const int32_t shift = levels->shift, flipped = levels->flipped & 1;
    int32_t i;
#if AIDGE_HELIUM_ASSEMBLY
    for (i = 0; i < run; i += 8) {
        const mve_pred16_t valid = vctp16q((uint32_t)(run - i));
        int16x8_t sum = vmulq_n_s16(vldrbq_z_s16(a + i, valid), of_a);
        int16x8_t turned;
        sum = vmlaq_n_s16(sum, vldrbq_z_s16(b + i, valid), of_b);
        sum = vmlaq_n_s16(sum, vldrbq_z_s16(c + i, valid), of_c);
        sum = vmlaq_n_s16(sum, vldrbq_z_s16(d + i, valid), of_d);
        turned = vandq_s16(veorq_s16(vshlq_r_s16(sum, -shift), vdupq_n_s16((int16_t)flipped)), vdupq_n_s16(1));
        sum = vshlq_r_s16(vaddq_s16(vaddq_n_s16(sum, start), turned), -shift);
        vstrbq_p_s16(output + i, sum, valid);
    }
#else
    for (i = 0; i < run; i++) {
        const int32_t sum = a[i] * of_a + b[i] * of_b + c[i] * of_c + d[i] * of_d;
        output[i] = (int8_t)((sum + start + (((sum >> shift) ^ flipped) & 1)) >> shift);
    }
#endif
}

/* Resizing along rows and columns with two taps each, within one scale whose denominators are powers of two. */
static void aidge_helium_resample_lanes(const int8_t *input, int8_t *output, const int32_t *rows, const int32_t *columns,
                                        const aidge_kit_lanes_levels *levels, const aidge_kit_lanes_shape *shape)
{
    int32_t image, row;
    for (image = 0; image < shape->images; image++) {
        for (row = 0; row < shape->rows; row++) {
            const aidge_kit_lanes_row found = aidge_kit_lanes_row_of(input, rows, row, columns, shape);
            const int32_t *place;
            for (place = columns; place != found.end; place += 4) {
                const int8_t *from[4];
                uint32_t shares[4];
                aidge_kit_lanes_position(from, shares, &found, place);
                aidge_helium_lanes_run(from, shares, output, found.run, levels);
                output += found.run;
            }
        }
        input += shape->step;
    }
}
