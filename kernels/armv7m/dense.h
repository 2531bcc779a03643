/* SPDX-License-Identifier: 0BSD */
#include "kit/requantize.h"
#include "target.h"

/*
 * Blocks of pixels whose taps stand as words of two pixels, first + second * 2^23, in a column: tap after tap the words of all
 * pairs. `weights`: group of channels after group, in it tap after tap those of its channels.
 *
 * `numbers`: the head, {lowest, highest, zero point} of the output and the input's zero point; then for each channel of each
 * group {factor, low and high word of the start}, behind which a near form (arithmetic/near_halves.py) has {bias, float32
 * multiplier}. The level of a sum is (sum * factor + start) >> (32 + shift).
 */
enum { AIDGE_ARMV7M_HEAD = 4, AIDGE_ARMV7M_FIELD = 23 };

/* Of a layer: bytes of the column, where its first turn enters the steps of the text, bytes from pixel to pixel of the output,
 * and the head of the numbers. Assembly reads it in this order. */
typedef struct {
    int32_t column_bytes, entry, stride, lowest, highest, zero_point;
} aidge_armv7m_block;

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

AIDGE_KIT_INLINE int64_t aidge_armv7m_start(const int32_t *words)
{
    return (int64_t)(((uint64_t)(uint32_t)words[1] << 32) | (uint32_t)words[0]);
}

/* What the assembly of dense.py does; `words` of a channel's numbers. */
AIDGE_KIT_INLINE const int32_t *aidge_armv7m_dense(const uint32_t *column, const int8_t *weights, const int32_t *numbers,
                                                   int8_t *output, const aidge_armv7m_block *block, const int32_t *end,
                                                   int32_t *sums, int32_t pairs, int32_t channels, int32_t shift, int32_t words,
                                                   int32_t clamped)
{
    const int32_t taps = block->column_bytes / (4 * pairs);
    int32_t channel, pair, pixel, tap;
    for (; numbers != end; numbers += words * channels) {
        for (channel = 0; channel < channels; channel++) {
            for (pair = 0; pair < pairs; pair++) {
                int64_t sum = 0;
                for (tap = 0; tap < taps; tap++) {
                    sum += (int64_t)(int32_t)column[tap * pairs + pair] * weights[tap * channels + channel];
                }
                sums[2 * (channel * pairs + pair)] = aidge_armv7m_first_sum(sum);
                sums[2 * (channel * pairs + pair) + 1]
                    = (int32_t)((sum - aidge_armv7m_first_sum(sum)) / ((int64_t)1 << AIDGE_ARMV7M_FIELD));
            }
        }
        weights += taps * channels;
        for (channel = 0; channel < channels; channel++) {
            const int32_t *own = numbers + words * channel;
            for (pixel = 0; pixel < 2 * pairs; pixel++) {
                const int64_t line = (int64_t)sums[2 * pairs * channel + pixel] * own[0] + aidge_armv7m_start(own + 1);
                int32_t level = (int32_t)(line >> 32) >> shift;
                if ((words > 3) && ((uint32_t)line < 0x800000u)) {
                    return numbers;
                }
                level = aidge_armv7m_limit(level, -128, 127);
                level = clamped != 0 ? aidge_armv7m_limit(level, block->lowest, block->highest) : level;
                output[pixel * block->stride + channel] = (int8_t)level;
            }
        }
        output += channels;
    }
    return 0;
}

/* The outputs of a group from its sums, by the float32 formula. */
AIDGE_KIT_NOINLINE __attribute__((unused)) void aidge_armv7m_exact(const int32_t *numbers, const int32_t *sums, int8_t *output,
                                                                   const aidge_armv7m_block *block, int32_t pixels,
                                                                   int32_t channels)
{
    int32_t channel, pixel;
    for (channel = 0; channel < channels; channel++) {
        float multiplier;
        memcpy(&multiplier, numbers + 4, sizeof multiplier);
        for (pixel = 0; pixel < pixels; pixel++) {
            const int32_t level = aidge_armv7m_limit(aidge_kit_scale(*sums++ + numbers[3], multiplier),
                                                     block->lowest - block->zero_point, block->highest - block->zero_point);
            output[pixel * block->stride + channel] = (int8_t)(level + block->zero_point);
        }
        numbers += 5;
    }
}
