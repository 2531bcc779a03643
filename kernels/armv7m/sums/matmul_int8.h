/* SPDX-License-Identifier: 0BSD */
#include "rows.h"
#include "kit/batches.h"

/*
 * Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in elements, 0 repeats. The scratch holds
 * `band` columns at a time, a multiple of 8, as weights and numbers of rows.h; `first_taps` and `entry` are the fields of its
 * block.
 */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, inner, columns, band, first_taps, entry;
} aidge_armv7m_product;

/* The head of the scratch, which assembly reads. A row subtracts `rows.offset`, (128 + second zero point) * its sum, from the
 * sums of even columns of a group, and `odd`, the zero point * its sum, from the sums of odd columns. */
typedef struct {
    aidge_armv7m_row_block rows;
    int32_t odd;
} aidge_armv7m_product_block;

/* Words of `pattern`, known before the matrices are. */
enum {
    AIDGE_ARMV7M_PRODUCT_FIRST = AIDGE_ARMV7M_HEAD, /* zero point of the first matrix */
    AIDGE_ARMV7M_PRODUCT_SECOND,                    /* of the second one */
    AIDGE_ARMV7M_PRODUCT_NUMBERS,                   /* of a column whose values are all zero points */
    AIDGE_ARMV7M_PRODUCT_BYTES = 256                /* whose sum fits a halfword */
};

#define AIDGE_ARMV7M_PRODUCT_FLIP 0x80808080u
#define AIDGE_ARMV7M_PRODUCT_EVEN 0x00FF00FFu

static void aidge_armv7m_begin_product(aidge_armv7m_product_block *block, const aidge_armv7m_product *shape,
                                       const int32_t *pattern)
{
    block->rows.first_taps = shape->first_taps;
    block->rows.entry = shape->entry;
    block->rows.limits = aidge_armv7m_limits_of(pattern);
    block->rows.taps = shape->inner;
}

/* Four columns of the second matrix as words of rows.h, every other one, and the sums of their values + 128. */
AIDGE_KIT_NOINLINE void aidge_armv7m_product_words(const int8_t *second, uint32_t *weights, int32_t *sums, int32_t inner,
                                                   int32_t columns)
{
    sums[0] = 0;
    sums[1] = 0;
    sums[2] = 0;
    sums[3] = 0;
    while (inner > 0) {
        int32_t count = AIDGE_ARMV7M_PRODUCT_BYTES;
        uint32_t even = 0, odd = 0;
        int32_t left;
        if (inner < count) {
            count = inner;
        }
        for (left = count; left > 0; left--) {
            uint32_t low, high;
            (void)memcpy(&low, second, sizeof low);
            low ^= AIDGE_ARMV7M_PRODUCT_FLIP;
            high = (low >> 8) & AIDGE_ARMV7M_PRODUCT_EVEN;
            low &= AIDGE_ARMV7M_PRODUCT_EVEN;
            even += low;
            odd += high;
            *weights = (low | (high << 24) | (high >> 8)) ^ 0x80008000u;
            weights += 2;
            second += columns;
        }
        sums[0] += (int32_t)(even & 0xFFFFu);
        sums[1] += (int32_t)(odd & 0xFFFFu);
        sums[2] += (int32_t)(even >> 16);
        sums[3] += (int32_t)(odd >> 16);
        inner -= count;
    }
}

/* The numbers of `count` columns with these sums. */
AIDGE_KIT_NOINLINE void aidge_armv7m_product_numbers(int32_t *numbers, const int32_t *sums, int32_t count, const int32_t *pattern,
                                                     int32_t inner)
{
    const int32_t *const plain = pattern + AIDGE_ARMV7M_PRODUCT_NUMBERS;
    const int64_t start = (int64_t)(((uint64_t)(uint32_t)plain[2] << 32) | (uint32_t)plain[1]);
    const int32_t zeros = inner * (128 + pattern[AIDGE_ARMV7M_PRODUCT_SECOND]);
    for (; count > 0; count--) {
        const int32_t bias = pattern[AIDGE_ARMV7M_PRODUCT_FIRST] * (zeros - *sums++);
        const uint64_t own = (uint64_t)(start + aidge_kit_multiply_s64(bias, plain[0]));
        numbers[0] = plain[0];
        numbers[1] = (int32_t)(uint32_t)own;
        numbers[2] = (int32_t)(uint32_t)(own >> 32);
        numbers += 3;
    }
}

/* Writes `groups` groups of 8 columns; the last group ends at column `count`. The numbers follow the block, and the weights
 * follow the numbers. Returns the weights. */
AIDGE_KIT_NOINLINE const int32_t *aidge_armv7m_product_columns(const int8_t *second, aidge_armv7m_product_block *block,
                                                               const int32_t *pattern, const aidge_armv7m_product *shape,
                                                               int32_t groups, int32_t count)
{
    int32_t *numbers = (int32_t *)(void *)(block + 1);
    uint32_t *const weights = (uint32_t *)(void *)numbers + groups * AIDGE_ARMV7M_GROUP_WORDS;
    uint32_t *own = weights;
    int32_t column = 0;
    for (; groups > 0; groups--) {
        int32_t sums[AIDGE_ARMV7M_GROUP];
        column = groups > 1 ? column : count - AIDGE_ARMV7M_GROUP;
        aidge_armv7m_product_words(second + column, own, sums, shape->inner, shape->columns);
        aidge_armv7m_product_words(second + column + 4, own + 1, sums + 4, shape->inner, shape->columns);
        *numbers = 1; /* every column has a line */
        aidge_armv7m_product_numbers(numbers + 1, sums, AIDGE_ARMV7M_GROUP, pattern, shape->inner);
        numbers += AIDGE_ARMV7M_GROUP_WORDS;
        own += 2 * shape->inner;
        column += AIDGE_ARMV7M_GROUP;
    }
    return (const int32_t *)weights;
}

/* Adds the terms of a row to its sums where the stored values are multiplied. */
AIDGE_KIT_NOINLINE void aidge_armv7m_product_row(aidge_armv7m_product_block *block, const int8_t *row, const int32_t *pattern)
{
    const int32_t sum = aidge_armv7m_row_sum(row, block->rows.taps);
    block->odd = pattern[AIDGE_ARMV7M_PRODUCT_SECOND] * sum;
    block->rows.offset = block->odd + 128 * sum;
}
