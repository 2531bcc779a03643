/* SPDX-License-Identifier: 0BSD */
#include "core/mve.h"
#include "softmax_exactly.h"

/* `outer` blocks of `inner` rows; elements of a row lie `inner` apart, rows of a block 1, or where inner is 1 `length`. */
typedef struct {
    int32_t outer, length, inner;
} aidge_helium_softmax_shape;

/* Four elements, or those that the mask names. */
AIDGE_KIT_INLINE int32x4_t aidge_helium_softmax_load(const int8_t *from, uint32x4_t places, mve_pred16_t mask, int32_t is_whole)
{
    return is_whole != 0 ? vldrbq_gather_offset_s32(from, places) : vldrbq_gather_offset_z_s32(from, places, mask);
}

/*
 * Up to four rows in the lanes, in float32. Returns 0 where a quotient lies so near the middle between two levels that float32
 * does not decide.
 */
AIDGE_KIT_INLINE int32_t aidge_helium_softmax_rows(const int8_t *input, int8_t *output, const uint32_t *exponentials,
                                                   const int32_t *numbers, const int32_t *steps, uint32x4_t places,
                                                   mve_pred16_t mask, int32_t is_whole)
{
    const int32_t step = steps[0], length = steps[2];
    const int8_t *from = input;
    int32x4_t largest = vdupq_n_s32(-128), first;
    float32x4_t sums = vdupq_n_f32(0.0f), farthest = sums, factors = sums;
    float scale, unit;
    int32_t i;
    (void)memcpy(&scale, numbers + AIDGE_HELIUM_SOFTMAX_SCALE, sizeof scale);
    (void)memcpy(&unit, numbers + AIDGE_HELIUM_SOFTMAX_UNIT, sizeof unit);
    AIDGE_KIT_ROLLED
    for (i = length; i > 0; i--) {
        largest = vmaxq_s32(largest, aidge_helium_softmax_load(from, places, mask, is_whole));
        from += step;
    }
    from = input;
    first = vsubq_n_s32(largest, AIDGE_HELIUM_SOFTMAX_LAST);
    AIDGE_KIT_ROLLED
    for (i = length; i > 0; i--) {
        const int32x4_t above = vsubq_s32(aidge_helium_softmax_load(from, places, mask, is_whole), first);
        const uint32x4_t terms = vldrwq_gather_shifted_offset_u32(exponentials, vreinterpretq_u32_s32(above));
        sums = vaddq_f32(sums, vcvtq_f32_u32(terms));
        from += step;
    }
    factors = vsetq_lane_f32(scale / vgetq_lane_f32(sums, 0), factors, 0);
    factors = vsetq_lane_f32(scale / vgetq_lane_f32(sums, 1), factors, 1);
    factors = vsetq_lane_f32(scale / vgetq_lane_f32(sums, 2), factors, 2);
    factors = vsetq_lane_f32(scale / vgetq_lane_f32(sums, 3), factors, 3);
    from = input;
    AIDGE_KIT_ROLLED
    for (i = length; i > 0; i--) {
        const int32x4_t above = vsubq_s32(aidge_helium_softmax_load(from, places, mask, is_whole), first);
        const uint32x4_t terms = vldrwq_gather_shifted_offset_u32(exponentials, vreinterpretq_u32_s32(above));
        const float32x4_t levels_of = vmulq_f32(vcvtq_f32_u32(terms), factors);
        int32x4_t level = vcvtnq_s32_f32(levels_of);
        const float32x4_t distance = vabdq_f32(levels_of, vcvtq_f32_s32(level));
        farthest = vmaxnmq_f32(farthest, vfmaq_n_f32(distance, levels_of, unit));
        level = vminq_s32(vaddq_n_s32(level, numbers[AIDGE_HELIUM_SOFTMAX_ZERO]), vdupq_n_s32(127));
        if (is_whole != 0) {
            vstrbq_scatter_offset_s32(output, places, level);
        } else {
            vstrbq_scatter_offset_p_s32(output, places, level, mask);
        }
        from += step;
        output += step;
    }
    return vmaxnmvq_f32(0.0f, farthest) < AIDGE_HELIUM_SOFTMAX_DECIDED;
}

/*
 * Softmax, int8, along any axis: rows in the lanes. exponentials: [256], that of the largest value of a row last; numbers:
 * softmax_exactly.h says them. Output and input share no bytes.
 */
static void aidge_helium_softmax_lanes(const int8_t *input, int8_t *output, const uint32_t *exponentials,
                                       const int32_t *numbers, const aidge_helium_softmax_shape *shape)
{
    const int32_t is_row = (shape->inner == 1) ? 1 : 0;
    const int32_t rows = is_row != 0 ? shape->outer : shape->inner;
    int32_t blocks = is_row != 0 ? 1 : shape->outer;
    int32_t steps[3];
    steps[0] = shape->inner;
    steps[1] = is_row != 0 ? shape->length : 1;
    steps[2] = shape->length;
    for (; blocks > 0; blocks--) {
        const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)steps[1]);
        int32_t left;
        for (left = rows; left > 0; left -= 4) {
            const int8_t *const from = input + (rows - left) * steps[1];
            int8_t *const to = output + (rows - left) * steps[1];
            const mve_pred16_t mask = vctp32q((uint32_t)left);
            const int32_t decided =
                left >= 4 ? aidge_helium_softmax_rows(from, to, exponentials, numbers, steps, places, mask, 1)
                          : aidge_helium_softmax_rows(from, to, exponentials, numbers, steps, places, mask, 0);
            if (decided == 0) {
                aidge_helium_softmax_exactly(from, to, exponentials, numbers, left < 4 ? left : 4, steps[0], steps[1]);
            }
        }
        input += shape->length * shape->inner;
        output += shape->length * shape->inner;
    }
}
