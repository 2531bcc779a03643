/* SPDX-License-Identifier: 0BSD */
#include "shared/float_model.h"

#include <stdint.h>
#include "kit/row_blocks.h"

/* `integer_bits` of the data of a block; 0: int8 levels. `words` of a block of a column. */
typedef struct {
    int32_t rows, depth, columns, bits, block, words, integer_bits;
} aidge_ref_nbits_shape;

/* The sum of the products of some words of numbers of 4 bits. In a function of its own, which has the registers for itself. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_nbits_sum_of_4(const uint32_t *words, const int32_t *x, int32_t count)
{
    int32_t sum = 0;
    int32_t word;
    for (word = 0; word < count; word++) {
        const uint32_t eight = words[word];
        sum += (int32_t)(eight & 15u) * x[0];
        sum += (int32_t)((eight >> 4) & 15u) * x[1];
        sum += (int32_t)((eight >> 8) & 15u) * x[2];
        sum += (int32_t)((eight >> 12) & 15u) * x[3];
        sum += (int32_t)((eight >> 16) & 15u) * x[4];
        sum += (int32_t)((eight >> 20) & 15u) * x[5];
        sum += (int32_t)((eight >> 24) & 15u) * x[6];
        sum += (int32_t)(eight >> 28) * x[7];
        x += 8;
    }
    return sum;
}

/* The same for numbers of any bits. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_nbits_sum(const uint32_t *words, const int32_t *x, int32_t count, int32_t bits)
{
    const uint32_t mask = ((uint32_t)1 << bits) - 1u;
    int32_t sum = 0;
    int32_t word, shift;
    for (word = 0; word < count; word++) {
        for (shift = 0; shift < 32; shift += bits) {
            sum += (int32_t)((words[word] >> shift) & mask) * *x++;
        }
    }
    return sum;
}

/* Integers of a block of a row, and zeros after it; returns their unit. */
static float aidge_ref_nbits_integers(const float *input, int32_t *integers, int32_t count, const aidge_ref_nbits_shape *shape)
{
    float reciprocal, scale;
    int32_t index;
    (void)memset(integers, 0, (uint32_t)(shape->words * (32 / shape->bits)) * sizeof *integers);
    if (shape->integer_bits > 0) {
        return aidge_kit_common_exponent(input, integers, count, shape->integer_bits);
    }
    scale = aidge_kit_block_scale(input, count, &reciprocal);
    for (index = 0; reciprocal > 0.0f && index < count; index++) {
        integers[index] = aidge_kit_block_level(input[index], reciprocal);
    }
    return scale;
}

/*
 * output[row][n] = bias[n] + sum over blocks of scales[block][n] * unit of the input * sum((q - zeros[block][n]) * integers).
 *
 * weights: for each block the words of each column, the first number in the lowest bits.
 */
static void aidge_ref_matmul_nbits_float32(const float *input, float *output, const uint32_t *weights, const float *scales,
                                           const uint8_t *zeros, const float *bias, void *scratch,
                                           const aidge_ref_nbits_shape *shape)
{
    int32_t *const integers = (int32_t *)scratch;
    int32_t row, column, place, index;
    for (row = 0; row < shape->rows; row++) {
        const uint32_t *words = weights;
        const float *scale = scales;
        const uint8_t *zero = zeros;
        (void)memcpy(output, bias, (uint32_t)shape->columns * sizeof *output);
        for (place = 0; place < shape->depth; place += shape->block) {
            const int32_t left = shape->depth - place;
            const int32_t count = left < shape->block ? left : shape->block;
            const float unit = aidge_ref_nbits_integers(input + place, integers, count, shape);
            int32_t total = 0;
            for (index = 0; index < count; index++) {
                total += integers[index];
            }
            for (column = 0; column < shape->columns; column++) {
                const int32_t sum = shape->bits == 4 ? aidge_ref_nbits_sum_of_4(words, integers, shape->words)
                                                     : aidge_ref_nbits_sum(words, integers, shape->words, shape->bits);
                const int32_t point = *zero++;
                output[column] += aidge_kit_exact((float)(sum - point * total) * (unit * *scale++));
                words += shape->words;
            }
        }
        input += shape->depth;
        output += shape->columns;
    }
}
