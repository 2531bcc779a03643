/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "inline.h"
#include "wide.h"

/* Images of rows x columns x run; between two of the source lie `step` elements. */
typedef struct {
    int32_t images, step, rows, columns, run;
} aidge_kit_lanes_shape;

/* kernel_kit/resample_lanes.py: the level of a sum. */
typedef struct {
    int32_t multiplier, start, shift, flipped;
} aidge_kit_lanes_levels;

#define AIDGE_KIT_HALVES 0x00FF00FFu
#define AIDGE_KIT_HALVES_FLIP 0x80808080u

AIDGE_KIT_INLINE int32_t aidge_kit_lanes_level(uint32_t sum, const aidge_kit_lanes_levels *levels, int32_t clamps)
{
    int32_t level = ((int32_t)sum * levels->multiplier + levels->start) >> levels->shift;
    if (clamps != 0) {
        level = level < -128 ? -128 : level;
        level = level > 127 ? 127 : level;
    }
    return level;
}

/* Two sums as halfwords: their levels + 128 as such, where the multiplier is 1 and ties go to the even level. */
AIDGE_KIT_INLINE uint32_t aidge_kit_lanes_even(uint32_t sums, const aidge_kit_lanes_levels *levels)
{
    const uint32_t starts = (uint32_t)levels->start * 0x00010001u;
    const uint32_t turned = ((sums >> levels->shift) ^ (uint32_t)levels->flipped) & 0x00010001u;
    return ((sums + starts + turned) >> levels->shift) & AIDGE_KIT_HALVES;
}

/* Two sums as halfwords: the low bytes of their levels as such. */
AIDGE_KIT_INLINE uint32_t aidge_kit_lanes_scaled(uint32_t sums, const aidge_kit_lanes_levels *levels, int32_t clamps)
{
    const uint32_t low = (uint32_t)aidge_kit_lanes_level(sums & 0xFFFFu, levels, clamps) & 0xFFu;
    return low | ((uint32_t)aidge_kit_lanes_level(sums >> 16, levels, clamps) & 0xFFu) << 16;
}

/* Cores without words at any address need pointers to whole ones. */
#if AIDGE_KIT_NARROW && defined(__GNUC__)
#define AIDGE_KIT_WHOLE(pointer) __builtin_assume_aligned((pointer), sizeof(uint32_t))
#else
#define AIDGE_KIT_WHOLE(pointer) (pointer)
#endif

/* Four elements + 128. */
AIDGE_KIT_INLINE uint32_t aidge_kit_lanes_word(const int8_t *from)
{
    uint32_t word;
    (void)memcpy(&word, AIDGE_KIT_WHOLE(from), sizeof word);
    return word ^ AIDGE_KIT_HALVES_FLIP;
}

#if AIDGE_KIT_NARROW
/* How many elements of a run are taken four at a time: all but the rest if all pointers are to whole words. */
AIDGE_KIT_INLINE int32_t aidge_kit_lanes_together(const int8_t *const *from, const int8_t *output, int32_t run)
{
    const uintptr_t ends = (uintptr_t)from[0] | (uintptr_t)from[1] | (uintptr_t)from[2] | (uintptr_t)from[3] | (uintptr_t)output;
    return (ends % sizeof(uint32_t)) != 0u ? 0 : run & ~3;
}
#endif

/* A run of one output position, from: four pointers to its elements; shares: of them. */
AIDGE_KIT_INLINE void aidge_kit_lanes_run(const int8_t *const *from, const uint32_t *shares, int8_t *output, int32_t run,
                                          const aidge_kit_lanes_levels *levels, int32_t is_even, int32_t clamps)
{
    const int8_t *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    const uint32_t of_a = shares[0], of_b = shares[1], of_c = shares[2], of_d = shares[3];
    const aidge_kit_lanes_levels own = *levels;
#if AIDGE_KIT_NARROW
    const uint32_t start = 128u * (of_a + of_b + of_c + of_d);
    const int32_t together = aidge_kit_lanes_together(from, output, run);
    int8_t *const last = output + together;
    int32_t index;
#else
    int8_t *const last = output + (run & ~3);
#endif
    while (output != last) {
        uint32_t word = aidge_kit_lanes_word(a), even, odd;
        AIDGE_KIT_ONE_BY_ONE(word);
        even = (word & AIDGE_KIT_HALVES) * of_a;
        odd = (word >> 8 & AIDGE_KIT_HALVES) * of_a;
        word = aidge_kit_lanes_word(b);
        even += (word & AIDGE_KIT_HALVES) * of_b;
        odd += (word >> 8 & AIDGE_KIT_HALVES) * of_b;
        word = aidge_kit_lanes_word(c);
        even += (word & AIDGE_KIT_HALVES) * of_c;
        odd += (word >> 8 & AIDGE_KIT_HALVES) * of_c;
        word = aidge_kit_lanes_word(d);
        even += (word & AIDGE_KIT_HALVES) * of_d;
        odd += (word >> 8 & AIDGE_KIT_HALVES) * of_d;
        if (is_even != 0) {
            even = (aidge_kit_lanes_even(even, &own) | aidge_kit_lanes_even(odd, &own) << 8) ^ AIDGE_KIT_HALVES_FLIP;
        } else {
            even = aidge_kit_lanes_scaled(even, &own, clamps) | aidge_kit_lanes_scaled(odd, &own, clamps) << 8;
        }
        (void)memcpy(AIDGE_KIT_WHOLE(output), &even, sizeof even);
        a += 4;
        b += 4;
        c += 4;
        d += 4;
        output += 4;
    }
#if AIDGE_KIT_NARROW
    run -= together;
    for (index = 0; index < run; index++) {
        const uint32_t sum = (uint32_t)a[index] * of_a + (uint32_t)b[index] * of_b + (uint32_t)c[index] * of_c
                             + (uint32_t)d[index] * of_d + start;
        output[index] = is_even != 0 ? (int8_t)((int32_t)(aidge_kit_lanes_even(sum, &own) & 0xFFu) - 128)
                                     : (int8_t)aidge_kit_lanes_level(sum, &own, clamps);
    }
#else
    for (run &= 3; run > 0; run--) {
        const uint32_t sum = (uint32_t)(*a++ + 128) * of_a + (uint32_t)(*b++ + 128) * of_b + (uint32_t)(*c++ + 128) * of_c
                             + (uint32_t)(*d++ + 128) * of_d;
        *output++ = is_even != 0 ? (int8_t)((int32_t)(aidge_kit_lanes_even(sum, &own) & 0xFFu) - 128)
                                 : (int8_t)aidge_kit_lanes_level(sum, &own, clamps);
    }
#endif
}

AIDGE_KIT_NOINLINE void aidge_kit_lanes_run_even(const int8_t *const *from, const uint32_t *shares, int8_t *output,
                                             int32_t run, const aidge_kit_lanes_levels *levels)
{
    aidge_kit_lanes_run(from, shares, output, run, levels, 1, 0);
}

AIDGE_KIT_NOINLINE void aidge_kit_lanes_run_scaled(const int8_t *const *from, const uint32_t *shares, int8_t *output,
                                             int32_t run, const aidge_kit_lanes_levels *levels)
{
    aidge_kit_lanes_run(from, shares, output, run, levels, 0, 0);
}

AIDGE_KIT_NOINLINE void aidge_kit_lanes_run_clamped(const int8_t *const *from, const uint32_t *shares, int8_t *output,
                                             int32_t run, const aidge_kit_lanes_levels *levels)
{
    aidge_kit_lanes_run(from, shares, output, run, levels, 0, 1);
}

/* Of a row of outputs: shares and pointers of the two input rows that it looks at, and where the list of columns ends. */
typedef struct {
    const int8_t *upper, *lower;
    uint32_t above, below;
    const int32_t *end;
    int32_t run;
} aidge_kit_lanes_row;

/* The row numbered so. rows, columns: for each of them {offset, share, offset, share}, offsets in elements. */
AIDGE_KIT_INLINE aidge_kit_lanes_row aidge_kit_lanes_row_of(const int8_t *input, const int32_t *rows, int32_t row,
                                                            const int32_t *columns, const aidge_kit_lanes_shape *shape)
{
    aidge_kit_lanes_row found;
    found.upper = input + rows[4 * row];
    found.lower = input + rows[4 * row + 2];
    found.above = (uint32_t)rows[4 * row + 1];
    found.below = (uint32_t)rows[4 * row + 3];
    found.end = columns + 4 * shape->columns;
    found.run = shape->run;
    return found;
}

/* Where the elements of an output position lie, and their shares. */
AIDGE_KIT_INLINE void aidge_kit_lanes_position(const int8_t **from, uint32_t *shares, const aidge_kit_lanes_row *row,
                                               const int32_t *column)
{
    from[0] = row->upper + column[0];
    from[1] = row->upper + column[2];
    from[2] = row->lower + column[0];
    from[3] = row->lower + column[2];
    shares[0] = row->above * (uint32_t)column[1];
    shares[1] = row->above * (uint32_t)column[3];
    shares[2] = row->below * (uint32_t)column[1];
    shares[3] = row->below * (uint32_t)column[3];
}

/* A row of outputs. form: 0 scaled, 1 even, 2 clamped. */
AIDGE_KIT_INLINE void aidge_kit_lanes_columns(const aidge_kit_lanes_row *row, int8_t *output, const int32_t *columns,
                                              const aidge_kit_lanes_levels *levels, int32_t form)
{
    for (; columns != row->end; columns += 4) {
        const int8_t *from[4];
        uint32_t shares[4];
        aidge_kit_lanes_position(from, shares, row, columns);
        if (form == 1) {
            aidge_kit_lanes_run_even(from, shares, output, row->run, levels);
        } else if (form == 2) {
            aidge_kit_lanes_run_clamped(from, shares, output, row->run, levels);
        } else {
            aidge_kit_lanes_run_scaled(from, shares, output, row->run, levels);
        }
        output += row->run;
    }
}
