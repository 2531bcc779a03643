/* SPDX-License-Identifier: 0BSD */
#include "dense.h"

/*
 * Rows of values times int8 weights, 8 outputs at once: fully connected layers, and pixels that are too few for blocks.
 *
 * `weights`: group of outputs after group, tap after tap two words; bytes 0 and 2 of a word are weights + 128, of outputs 0 and 2,
 * bytes 3 and 1 weights as they are, of outputs 1 and 3. So x * (word & 0xFF0000FF) holds the products of two outputs, 24 bits
 * apart; 256 of them fit a sum of 64 bits, and x is added up on its own.
 *
 * `numbers`: the head; then for each group 1 if every output has a line, else 0, and the numbers of 8 outputs.
 */
enum { AIDGE_ARMV7M_GROUP = 8, AIDGE_ARMV7M_GROUP_WORDS = 25 };

/* The head of the scratch. Assembly reads it in this order: taps of the first turn and the place where it enters the steps,
 * 128 * sum of the row, the limits. `sums` are sums of a group that the caller turns into outputs. */
typedef struct {
    int32_t first_taps, entry, offset;
    aidge_armv7m_limits limits;
    int32_t taps;
    int32_t sums[AIDGE_ARMV7M_GROUP];
} aidge_armv7m_row_block;

/* A layer: words of the groups of outputs that overlap no other, and the head; outputs of a group; outputs behind whole groups. */
typedef struct {
    int32_t rows, taps, outputs, first_taps, entry;
    int32_t whole_weights, whole_numbers, count, rest;
} aidge_armv7m_rows;

static inline void aidge_armv7m_begin_rows(aidge_armv7m_row_block *block, const aidge_armv7m_rows *shape, const int32_t *numbers)
{
    block->first_taps = shape->first_taps;
    block->entry = shape->entry;
    block->limits = aidge_armv7m_limits_of(numbers);
    block->taps = shape->taps;
}

/* The sum of a row. */
static int32_t aidge_armv7m_row_sum(const int8_t *row, int32_t taps)
{
    int32_t sum = 0;
    for (; taps >= 4; taps -= 4) {
        sum += row[0] + row[1] + row[2] + row[3];
        row += 4;
    }
    for (; taps > 0; taps--) {
        sum += *row++;
    }
    return sum;
}
