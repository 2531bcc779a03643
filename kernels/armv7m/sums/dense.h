/* SPDX-License-Identifier: 0BSD */
#include <stddef.h>
#include "kit/near.h"
#include "core/target.h"

/*
 * Blocks of pixels: a tap is two words of three pixels in a column, first + second * 2^21 and third + second * 2^11; the words
 * of all sets follow tap after tap. `weights` holds group of channels after group: for each tap the weights of the group's
 * channels, and before the taps the offset of these weights, if they have offsets.
 *
 * `numbers` holds the head, {lowest, highest, zero point} of the output and the input's zero point, then for each channel of
 * each group {factor, low and high word of the start}: the level of a sum is (sum * factor + start) >> (32 + shift). A channel
 * without a proved factor has {0, bias, float32 multiplier}; the multiplier is negative if near_halves.py is not exact,
 * either.
 *
 * If the bias of such a channel is between two units of the sums, bias and sum are in fractions of the unit, and the zero point
 * of the output has 256 * the bits of these fractions added.
 */
enum { AIDGE_ARMV7M_HEAD = 4, AIDGE_ARMV7M_FIELD = 23 };
#define AIDGE_ARMV7M_BEGIN 0x100000u /* of each sum of a segment */

/* The head of the scratch, for a layer: bytes of the column, where its first turn enters the steps of the text, bytes from
 * pixel to pixel of the output, and the head of the numbers. Assembly reads it in this order. */
typedef struct {
    int32_t lowest, highest, zero_point;
} aidge_armv7m_limits;

typedef struct {
    int32_t column_bytes, entry, stride;
    aidge_armv7m_limits limits;
    int32_t first_bytes, segment_bytes; /* of the column: the first segment of taps, and each other one */
    int32_t sums[12];                   /* of a group that the caller computes */
} aidge_armv7m_block;

/* The first three words of the numbers. */
static inline aidge_armv7m_limits aidge_armv7m_limits_of(const int32_t *numbers)
{
    aidge_armv7m_limits limits;
    limits.lowest = numbers[0];
    limits.highest = numbers[1];
    limits.zero_point = numbers[2];
    return limits;
}

/* The lowest bits of a sum of two pixels are the first one's, with its sign. */
AIDGE_KIT_INLINE int32_t aidge_armv7m_first_sum(int64_t sum)
{
    const uint32_t sign = (uint32_t)1 << (AIDGE_ARMV7M_FIELD - 1);
    return (int32_t)(((uint32_t)sum & (2u * sign - 1u)) ^ sign) - (int32_t)sign;
}

AIDGE_KIT_INLINE int32_t aidge_armv7m_limit(int32_t value, int32_t lowest, int32_t highest)
{
    value = value < lowest ? lowest : value;
    return value > highest ? highest : value;
}

/* floor(multiplier * 2^32) of these bits of a float32 below 1/2. */
static inline int32_t aidge_armv7m_near_factor(uint32_t bits)
{
    const uint32_t significand = (bits & 0x7FFFFFu) | 0x800000u;
    const int32_t left = (int32_t)(bits >> 23) - 118; /* multiplier * 2^32 = significand * 2^left */
    return (int32_t)(left >= 0 ? significand << left : left > -32 ? significand >> -left : 0u);
}

/* The stored value of a sum of a channel without a line. */
AIDGE_KIT_NOINLINE int8_t aidge_armv7m_exact_level(int32_t sum, const int32_t *numbers, const aidge_armv7m_limits *limits)
{
    const uint32_t bits = (uint32_t)numbers[2] & 0x7FFFFFFFu;
    float multiplier;
    (void)memcpy(&multiplier, &bits, sizeof multiplier);
    sum += numbers[1];
    sum = numbers[2] < 0 ? aidge_kit_scale_exactly(sum, multiplier)
                         : aidge_kit_scale_near(sum, aidge_armv7m_near_factor(bits), multiplier);
    sum = aidge_armv7m_limit(sum, limits->lowest - limits->zero_point, limits->highest - limits->zero_point);
    return (int8_t)(sum + limits->zero_point);
}

/* The same where biases are in fractions of a unit. */
AIDGE_KIT_NOINLINE int8_t aidge_armv7m_fine_level(int32_t sum, const int32_t *numbers, const aidge_armv7m_limits *limits)
{
    aidge_armv7m_limits plain = *limits;
    const int32_t bits = (plain.zero_point + 128) >> 8;
    plain.zero_point -= bits * 256;
    return aidge_armv7m_exact_level(sum * ((int32_t)1 << bits), numbers, &plain);
}

/* The stored value of any sum; `limits` are those of a block. */
AIDGE_KIT_INLINE int8_t aidge_armv7m_level(int32_t sum, const int32_t *numbers, const aidge_armv7m_limits *limits, int32_t shift,
                                           int32_t is_fine)
{
    if (numbers[0] != 0) {
        const int64_t start = (int64_t)(((uint64_t)(uint32_t)numbers[2] << 32) | (uint32_t)numbers[1]);
        const int64_t line = aidge_kit_multiply_s64(sum, numbers[0]) + start;
        const int32_t level = aidge_armv7m_limit((int32_t)aidge_kit_shift_right_s64(line, 32) >> shift, -128, 127);
        return (int8_t)aidge_armv7m_limit(level, limits->lowest, limits->highest);
    }
    return is_fine != 0 ? aidge_armv7m_fine_level(sum, numbers, limits) : aidge_armv7m_exact_level(sum, numbers, limits);
}

/* The sums of all taps of each pixel, before the column; separated as in dense.py. */
AIDGE_KIT_NOINLINE void aidge_armv7m_sums_of_taps(uint32_t *column, int32_t column_bytes, int32_t sets)
{
    int32_t *sums = (int32_t *)column - 3 * sets;
    const uint32_t *const end = column + column_bytes / 4;
    int32_t set;
    for (set = 0; set < sets; set++) {
        uint32_t near = AIDGE_ARMV7M_BEGIN;
        uint32_t far = AIDGE_ARMV7M_BEGIN * 2049u;
        const uint32_t *words;
        for (words = column + 2 * set; words < end; words += 2 * sets) {
            near += words[0];
            far += words[1];
        }
        far -= (near >> 21) << 11;
        *sums++ = (int32_t)(near & 0x1FFFFFu) - (int32_t)AIDGE_ARMV7M_BEGIN;
        *sums++ = (int32_t)((near >> 21) + ((far >> 22) << 11)) - (int32_t)AIDGE_ARMV7M_BEGIN;
        *sums++ = (int32_t)(far & 0x3FFFFFu) - (int32_t)AIDGE_ARMV7M_BEGIN;
    }
}

/* The outputs of a group from its sums. */
AIDGE_KIT_NOINLINE void aidge_armv7m_exact(const int32_t *numbers, int8_t *output, const aidge_armv7m_block *block, int32_t shift,
                                           int32_t pixels, int32_t channels, int32_t is_fine)
{
    const int32_t *sums = block->sums;
    for (; channels > 0; channels--) {
        int8_t *to = output++;
        int32_t pixel;
        for (pixel = 0; pixel < pixels; pixel++) {
            *to = aidge_armv7m_level(*sums++, numbers, &block->limits, shift, is_fine);
            to += block->stride;
        }
        numbers += 3;
    }
}
