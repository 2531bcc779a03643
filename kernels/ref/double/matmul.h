/* SPDX-License-Identifier: 0BSD */
#include "double/elements.h"
#include "kit/batches.h"

/*
 * output = requantize(sum over k of (first - its zero point) * (second - its zero point)), int8.
 *
 * numbers: {zero point of the first, of the second, of the output, multiplier, shift}.
 * Ranges: the generator has proved that no sum leaves int32, also shifted to the left.
 */
static void aidge_ref_matmul_double_int8(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers,
                                         const aidge_kit_matrices *shape)
{
    int32_t place[4] = {0, 0, 0, 0};
    int32_t row, column, k;
    do {
        const int8_t *a = first;
        for (row = 0; row < shape->rows; row++) {
            for (column = 0; column < shape->columns; column++) {
                const int8_t *b = second + column;
                int32_t sum = 0;
                for (k = 0; k < shape->inner; k++) {
                    sum += (a[k] - numbers[0]) * (*b - numbers[1]);
                    b += k + 1 < shape->inner ? shape->columns : 0;
                }
                sum = aidge_kit_scale_fixed(sum, numbers[3], numbers[4]) + numbers[2];
                *output++ = (int8_t)aidge_ref_between_double(sum, -128, 127);
            }
            a += shape->inner;
        }
    } while (aidge_kit_next_batch(place, shape->dims, shape->first_steps, shape->second_steps, &first, &second) != 0);
}

/*
 * The same of int16 without zero points: sums of 64 bits, times one factor, rounded once.
 *
 * numbers: {multiplier, shift to the right}.
 */
static void aidge_ref_matmul_double_int16(const int16_t *first, const int16_t *second, int16_t *output, const int32_t *numbers,
                                          const aidge_kit_matrices *shape)
{
    int32_t batch, row, column, k, rest;
    const int32_t batches = shape->dims[0] * shape->dims[1] * shape->dims[2] * shape->dims[3];
    for (batch = 0; batch < batches; batch++) {
        const int16_t *a = first;
        const int16_t *b = second;
        rest = batch;
        for (k = 3; k >= 0; k--) {
            const int32_t place = aidge_kit_modulo(rest, shape->dims[k]);
            a += place * shape->first_steps[k];
            b += place * shape->second_steps[k];
            rest = aidge_kit_divide(rest, shape->dims[k]);
        }
        for (row = 0; row < shape->rows; row++) {
            for (column = 0; column < shape->columns; column++) {
                int64_t level = 0;
                for (k = 0; k < shape->inner; k++) {
                    level += a[row * shape->inner + k] * b[k * shape->columns + column];
                }
                level = aidge_kit_shift_right_s64(aidge_kit_multiply_s64(level, numbers[0])
                                                      + (int64_t)aidge_kit_shift_left(1, numbers[1] - 1),
                                                  numbers[1]);
                *output++ = (int16_t)(level < -32768 ? -32768 : level > 32767 ? 32767 : level);
            }
        }
    }
}
