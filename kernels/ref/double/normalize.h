/* SPDX-License-Identifier: 0BSD */
#include "double/elements.h"
#include "shared/softmax_shape.h"

/* value * 2^bits, within int32. */
AIDGE_KIT_INLINE int32_t aidge_ref_widened_double(int32_t value, int32_t bits)
{
    const int32_t limit = 0x7FFFFFFF >> bits;
    return value > limit ? 0x7FFFFFFF : value < -limit - 1 ? -0x7FFFFFFF - 1 : (int32_t)((uint32_t)value << bits);
}

/* {multiplier, shift} of about 1 / sqrt(number), number >= 0, by five steps of Newton's method (arithmetic/fixed_root.py). */
static void aidge_ref_inverse_root_double(int32_t number, int32_t *factor)
{
    int32_t right = 11;
    int32_t half, root, step;
    factor[0] = 0x7FFFFFFF;
    factor[1] = 0;
    if (number <= 1) {
        return;
    }
    while (number >= 0x20000000) {
        number >>= 2;
        right++;
    }
    while (number < 0x08000000) {
        number <<= 2;
        right--;
    }
    half = aidge_kit_shift_away(number >> 1, 1);
    root = 0x10000000;
    for (step = 0; step < 5; step++) {
        const int32_t square = aidge_kit_high_product(root, root);
        const int32_t cube = aidge_ref_widened_double(aidge_kit_high_product(square, root), 6);
        root = aidge_ref_widened_double(aidge_kit_high_product(0x18000000, root) - aidge_kit_high_product(half, cube), 3);
    }
    root = aidge_kit_high_product(root, 1518500250);
    factor[0] = right < 0 ? (int32_t)((uint32_t)root << -right) : root;
    factor[1] = right < 0 ? 0 : -right;
}

/*
 * Rows of length one in units of 1 / 128, int8: values less the zero point times the inverse root of the sum of their squares.
 *
 * Ranges: the generator has proved that the sum of squares fits int32.
 */
static void aidge_ref_normalize_double_int8(const int8_t *input, int8_t *output, int32_t zero_point,
                                            const aidge_ref_softmax_shape *shape)
{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {
        for (row = 0; row < inner; row++) {
            int32_t factor[2];
            int32_t sum = 0;
            for (i = row; i < size; i += inner) {
                const int32_t x = input[i] - zero_point;
                sum += x * x;
            }
            aidge_ref_inverse_root_double(sum, factor);
            for (i = row; i < size; i += inner) {
                const int32_t level = aidge_kit_scale_fixed(input[i] - zero_point, factor[0], factor[1] + 7);
                output[i] = (int8_t)aidge_ref_between_double(level, -128, 127);
            }
        }
        input += size;
        output += size;
    }
}
