/* SPDX-License-Identifier: 0BSD */
#include "kit/naked.h"
#include "kit/row_blocks.h"

/*
 * A block of a row: the significand of its scale, what the sums of two columns in the halves of a word begin with, minus the sum
 * of the levels, by how many bits its results are shifted, and the groups of columns that it meets.
 */
typedef struct {
    int32_t scale, begin, minus_sum, shift, groups;
} aidge_kit_narrow_block;

enum { AIDGE_KIT_NARROW_NOT_FINITE = 255 };

/* The exponent of the largest scale of a row; 0 if all levels are 0. */
AIDGE_KIT_NOINLINE int32_t aidge_kit_narrow_row_exponent(const float *row, int32_t count)
{
    const uint32_t largest = aidge_kit_largest_pattern(row, count);
    float scale;
    uint32_t pattern;
    if (largest < AIDGE_KIT_SMALLEST_PATTERN || largest >= AIDGE_KIT_INFINITE_PATTERN) {
        return largest < AIDGE_KIT_SMALLEST_PATTERN ? 0 : AIDGE_KIT_NARROW_NOT_FINITE;
    }
    scale = aidge_kit_float_of(largest) / 127.0f;
    (void)memcpy(&pattern, &scale, sizeof pattern);
    return (int32_t)(pattern >> 23);
}

/* The significand of a positive float, from 2^15 to 2^16. */
AIDGE_KIT_INLINE uint32_t aidge_kit_narrow_significand(uint32_t pattern)
{
    return ((pattern << 8) | 0x80000000u) >> 16;
}

/*
 * The level of a value: the product of the significands, of 16 bits each, is at most 1,030 / 2^16 below the level itself. Where a
 * tie may be between, floats decide.
 */
AIDGE_KIT_INLINE int32_t aidge_kit_narrow_level(float value, float reciprocal)
{
    enum { UNIT = 65536, BELOW = 1030, BEYOND = 4 };
    uint32_t pattern, factor, shift, level;
    (void)memcpy(&pattern, &value, sizeof pattern);
    (void)memcpy(&factor, &reciprocal, sizeof factor);
    shift = 268u - ((pattern >> 23) & 255u) - (factor >> 23);
    if (shift > 31u) {
        return 0;
    }
    level = (aidge_kit_narrow_significand(pattern) * aidge_kit_narrow_significand(factor)) >> shift;
    if (AIDGE_KIT_SELDOM(((level + UNIT / 2u + BELOW) & (UNIT - 1u)) < BELOW + BEYOND)) {
        return aidge_kit_block_level(value, reciprocal);
    }
    level = (level + UNIT / 2u) >> 16;
    return (int32_t)(pattern >> 31) != 0 ? -(int32_t)level : (int32_t)level;
}

/*
 * The levels of a block of a row whose largest scale has this `exponent`; a block with a smaller one is shifted by more bits than
 * `shift`. `begin` is what one level less takes from both halves of a word of sums.
 */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_block_levels(const float *values, int32_t *levels, aidge_kit_narrow_block *block,
                                                      int32_t count, int32_t exponent, int32_t shift, int32_t begin)
{
    float reciprocal;
    const float scale = aidge_kit_block_scale(values, count, &reciprocal);
    uint32_t pattern;
    int32_t sum = 0;
    int32_t index;
    (void)memcpy(&pattern, &scale, sizeof pattern);
    if (pattern > 0u && exponent < AIDGE_KIT_NARROW_NOT_FINITE) {
        shift += exponent - (int32_t)(pattern >> 23);
        for (index = 0; index < count; index++) {
            levels[index] = aidge_kit_narrow_level(values[index], reciprocal);
            sum += levels[index];
        }
    } else {
        (void)memset(levels, 0, (uint32_t)count * sizeof *levels);
    }
    block->scale = (int32_t)(((((pattern & 0x7fffffu) | 0x800000u) >> 7) + 1u) >> 1);
    block->shift = shift > 31 ? 31 : shift;
    block->minus_sum = -sum;
    block->begin = -sum * begin;
}

/* Moves a number to the left, by so many bits, if there is room. */
AIDGE_KIT_INLINE void aidge_kit_narrow_raise(uint32_t *number, int32_t *power, int32_t bits)
{
    if ((*number >> (32 - bits)) == 0u) {
        *number <<= bits;
        *power -= bits;
    }
}

/* sum * 2^(power - 158), rounded to 24 bits; 0 or infinite where that is no normal float. */
AIDGE_KIT_INLINE float aidge_kit_narrow_float(int32_t sum, int32_t power)
{
    const uint32_t sign = (uint32_t)sum & 0x80000000u;
    uint32_t size = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum;
    aidge_kit_narrow_raise(&size, &power, 16);
    aidge_kit_narrow_raise(&size, &power, 8);
    aidge_kit_narrow_raise(&size, &power, 4);
    aidge_kit_narrow_raise(&size, &power, 2);
    aidge_kit_narrow_raise(&size, &power, 1);
    if (size == 0u || power <= 0) {
        return aidge_kit_float_of(sign);
    }
    size = ((size & 0x7fffffffu) + 128u) >> 8; /* a carry is the next power */
    return aidge_kit_float_of(sign | (power > 253 ? AIDGE_KIT_INFINITE_PATTERN : ((uint32_t)power << 23) + size));
}

/* Sums times a power of two become floats, in their place or elsewhere; NaN if the `row` has no exponent. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_floats(const int32_t *sums, float *output, int32_t row, int32_t power, int32_t columns)
{
    int32_t column;
    for (column = 0; column < columns; column++) {
        const float value = aidge_kit_narrow_float(sums[column], row + power);
        output[column] = row == AIDGE_KIT_NARROW_NOT_FINITE ? NAN : value;
    }
}
