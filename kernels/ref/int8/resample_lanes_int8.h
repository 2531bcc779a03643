/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/resample_lanes.h"
#include "kit/wide.h"

/* ref/int8/resample_lanes_int8.py: the quantized value of a sum. */
typedef struct {
    int32_t multiplier, start, shift, flipped;
} aidge_ref_lanes_levels;

#define AIDGE_REF_HALVES 0x00FF00FFu

/* Cores without words at any address need pointers to whole ones. */
#if AIDGE_KIT_NARROW && defined(__GNUC__)
#define AIDGE_REF_WHOLE(pointer) __builtin_assume_aligned((pointer), sizeof(uint32_t))
#else
#define AIDGE_REF_WHOLE(pointer) (pointer)
#endif

/* Four elements + 128. */
AIDGE_KIT_INLINE uint32_t aidge_ref_lanes_word(const int8_t *from)
{
    uint32_t word;
    (void)memcpy(&word, AIDGE_REF_WHOLE(from), sizeof word);
    return word ^ 0x80808080u;
}

AIDGE_KIT_INLINE int32_t aidge_ref_lanes_level(uint32_t sum, const aidge_ref_lanes_levels *levels)
{
    const int32_t level = ((int32_t)sum * levels->multiplier + levels->start) >> levels->shift;
    return level < -128 ? -128 : level > 127 ? 127 : level;
}

/* Two sums as halfwords: the bytes of their quantized values as such. + 128 if ties go to the even value. */
AIDGE_KIT_INLINE uint32_t aidge_ref_lanes_levels_of(uint32_t sums, const aidge_ref_lanes_levels *levels, int32_t is_even)
{
    if (is_even != 0) {
        const uint32_t starts = (uint32_t)levels->start * 0x00010001u;
        const uint32_t turned = ((sums >> levels->shift) ^ (uint32_t)levels->flipped) & 0x00010001u;
        return ((sums + starts + turned) >> levels->shift) & AIDGE_REF_HALVES;
    }
    return ((uint32_t)aidge_ref_lanes_level(sums & 0xFFFFu, levels) & 0xFFu)
           | ((uint32_t)aidge_ref_lanes_level(sums >> 16, levels) & 0xFFu) << 16;
}

/* How many elements of a run are taken four at a time; none if a core needs whole words and a pointer is to none. */
AIDGE_KIT_INLINE int32_t aidge_ref_lanes_together(const int8_t *const *from, const int8_t *output, int32_t run)
{
#if AIDGE_KIT_NARROW
    const uintptr_t ends = (uintptr_t)from[0] | (uintptr_t)from[1] | (uintptr_t)from[2] | (uintptr_t)from[3] | (uintptr_t)output;
    return (ends % sizeof(uint32_t)) != 0u ? 0 : run & ~3;
#else
    (void)from;
    (void)output;
    return run & ~3;
#endif
}

/* A run of one output position, from: four pointers to its elements; shares: of them. */
AIDGE_KIT_INLINE void aidge_ref_lanes_run(const int8_t *const *from, const uint32_t *shares, int8_t *output, int32_t run,
                                          const aidge_ref_lanes_levels *levels, int32_t is_even)
{
    const int8_t *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    const uint32_t of_a = shares[0], of_b = shares[1], of_c = shares[2], of_d = shares[3];
    const uint32_t start = 128u * (of_a + of_b + of_c + of_d);
    const aidge_ref_lanes_levels own = *levels;
    const int32_t together = aidge_ref_lanes_together(from, output, run);
    int8_t *const last = output + together;
    int32_t left;
    while (output != last) {
        uint32_t word = aidge_ref_lanes_word(a), even, odd;
        AIDGE_KIT_ONE_BY_ONE(word);
        even = (word & AIDGE_REF_HALVES) * of_a;
        odd = (word >> 8 & AIDGE_REF_HALVES) * of_a;
        word = aidge_ref_lanes_word(b);
        even += (word & AIDGE_REF_HALVES) * of_b;
        odd += (word >> 8 & AIDGE_REF_HALVES) * of_b;
        word = aidge_ref_lanes_word(c);
        even += (word & AIDGE_REF_HALVES) * of_c;
        odd += (word >> 8 & AIDGE_REF_HALVES) * of_c;
        word = aidge_ref_lanes_word(d);
        even += (word & AIDGE_REF_HALVES) * of_d;
        odd += (word >> 8 & AIDGE_REF_HALVES) * of_d;
        even = aidge_ref_lanes_levels_of(even, &own, is_even) | aidge_ref_lanes_levels_of(odd, &own, is_even) << 8;
        even ^= is_even != 0 ? 0x80808080u : 0u;
        (void)memcpy(AIDGE_REF_WHOLE(output), &even, sizeof even);
        a += 4;
        b += 4;
        c += 4;
        d += 4;
        output += 4;
    }
    for (left = run - together; left > 0; left--) {
        const uint32_t sum =
            (uint32_t)*a++ * of_a + (uint32_t)*b++ * of_b + (uint32_t)*c++ * of_c + (uint32_t)*d++ * of_d + start;
        const uint32_t level = aidge_ref_lanes_levels_of(sum, &own, is_even) & 0xFFu;
        *output++ = (int8_t)(level ^ (is_even != 0 ? 0x80u : 0u));
    }
}

AIDGE_KIT_NOINLINE void aidge_ref_lanes_run_even(const int8_t *const *from, const uint32_t *shares, int8_t *output, int32_t run,
                                                 const aidge_ref_lanes_levels *levels)
{
    aidge_ref_lanes_run(from, shares, output, run, levels, 1);
}

AIDGE_KIT_NOINLINE void aidge_ref_lanes_run_scaled(const int8_t *const *from, const uint32_t *shares, int8_t *output, int32_t run,
                                                   const aidge_ref_lanes_levels *levels)
{
    aidge_ref_lanes_run(from, shares, output, run, levels, 0);
}

/* Resizing along rows and columns with two taps each. */
AIDGE_KIT_INLINE void aidge_ref_resample_lanes(const int8_t *input, int8_t *output, const int32_t *rows, const int32_t *columns,
                                               const aidge_ref_lanes_levels *levels, const aidge_kit_lanes_shape *shape,
                                               int32_t is_even)
{
    int32_t image, row;
    for (image = 0; image < shape->images; image++) {
        for (row = 0; row < shape->rows; row++) {
            const aidge_kit_lanes_row place = aidge_kit_lanes_row_of(input, rows, row, columns, shape);
            const int32_t *column;
            for (column = columns; column != place.end; column += 4) {
                const int8_t *from[4];
                uint32_t shares[4];
                aidge_kit_lanes_position(from, shares, &place, column);
                if (is_even != 0) {
                    aidge_ref_lanes_run_even(from, shares, output, shape->run, levels);
                } else {
                    aidge_ref_lanes_run_scaled(from, shares, output, shape->run, levels);
                }
                output += shape->run;
            }
        }
        input += shape->step;
    }
}

AIDGE_KIT_NOINLINE void aidge_ref_resample_lanes_scaled(const int8_t *input, int8_t *output, const int32_t *rows,
                                                        const int32_t *columns, const aidge_ref_lanes_levels *levels,
                                                        const aidge_kit_lanes_shape *shape)
{
    aidge_ref_resample_lanes(input, output, rows, columns, levels, shape, 0);
}

AIDGE_KIT_NOINLINE void aidge_ref_resample_lanes_even(const int8_t *input, int8_t *output, const int32_t *rows,
                                                      const int32_t *columns, const aidge_ref_lanes_levels *levels,
                                                      const aidge_kit_lanes_shape *shape)
{
    aidge_ref_resample_lanes(input, output, rows, columns, levels, shape, 1);
}
