/* SPDX-License-Identifier: 0BSD */
#include "kit/naked.h"
#include "kit/row_blocks.h"

enum { AIDGE_KIT_NARROW_PARTS = 4 };

/*
 * A block of a row: the significand of its scale, minus the sum of the levels, by how many bits its results are shifted, the
 * groups of columns that it meets, and for each part of the block what the sums of two columns in the halves of a word begin
 * with.
 */
typedef struct {
    int32_t scale, minus_sum, shift, groups, begins[AIDGE_KIT_NARROW_PARTS];
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
 * The level of a value: the product of the significands, of 16 bits each, is at most 1,030 / 2^16 below the level itself.
 * Floats decide if a tie may be between both.
 */
AIDGE_KIT_INLINE int32_t aidge_kit_narrow_level(float value, float reciprocal)
{
    const uint32_t unit = 65536u, below = 1030u, beyond = 4u;
    uint32_t pattern, factor, shift, level;
    (void)memcpy(&pattern, &value, sizeof pattern);
    (void)memcpy(&factor, &reciprocal, sizeof factor);
    shift = 268u - ((pattern >> 23) & 255u) - (factor >> 23);
    if (shift > 31u) {
        return 0;
    }
    level = (aidge_kit_narrow_significand(pattern) * aidge_kit_narrow_significand(factor)) >> shift;
    if (AIDGE_KIT_SELDOM(((level + unit / 2u + below) & (unit - 1u)) < below + beyond)) {
        return aidge_kit_block_level(value, reciprocal);
    }
    level = (level + unit / 2u) >> 16;
    return (int32_t)(pattern >> 31) != 0 ? -(int32_t)level : (int32_t)level;
}

/* The levels of some values; returns their sum. */
AIDGE_KIT_INLINE int32_t aidge_kit_narrow_levels(const float *values, int32_t *levels, int32_t count, float reciprocal)
{
    int32_t sum = 0;
    int32_t index;
    for (index = 0; index < count; index++) {
        levels[index] = aidge_kit_narrow_level(values[index], reciprocal);
        sum += levels[index];
    }
    return sum;
}

/*
 * The levels of a block in parts, of a row whose largest scale has this `exponent`; a block with a smaller one is shifted by more
 * bits than `shift`. `centre` is what weights in both halves of a word are less than stored.
 */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_block_levels(
    const float *values, int32_t *levels, aidge_kit_narrow_block *block, int32_t count, int32_t part, int32_t exponent,
    int32_t shift, int32_t centre)
{
    float reciprocal;
    const float scale = aidge_kit_block_scale(values, count, &reciprocal);
    int32_t *begin = block->begins;
    int32_t first, sum;
    uint32_t pattern;
    (void)memcpy(&pattern, &scale, sizeof pattern);
    (void)memset(block->begins, 0, sizeof block->begins);
    block->minus_sum = 0;
    if (pattern > 0u && exponent < AIDGE_KIT_NARROW_NOT_FINITE) {
        shift += exponent - (int32_t)(pattern >> 23);
        for (first = 0; first < count; first += part) {
            const int32_t left = count - first;
            sum = aidge_kit_narrow_levels(values + first, levels + first, left < part ? left : part, reciprocal);
            *begin++ = -sum * centre;
            block->minus_sum -= sum;
        }
    } else {
        (void)memset(levels, 0, (uint32_t)count * sizeof *levels);
    }
    block->scale = (int32_t)(((((pattern & 0x7fffffu) | 0x800000u) >> 7) + 1u) >> 1);
    block->shift = shift > 31 ? 31 : shift;
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
