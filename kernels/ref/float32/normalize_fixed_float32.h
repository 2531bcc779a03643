/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/wide.h"
#include "normalize.h"

/*
 * Rows normalized in integers, for cores without an FPU: float32 in and out. A row is brought to the exponent of its largest
 * value; its mean is exact to 2^-28 of that, the squares are added up in 64 bits, and what is left of float arithmetic is one
 * root and one quotient for a row.
 *
 * Rows whose largest value is tiny, huge or no number are normalized in float32.
 */
enum { AIDGE_REF_LEAST_EXPONENT = 96, AIDGE_REF_MOST_EXPONENT = 180, AIDGE_REF_FIXED_EXPONENT = 155 };

/* Rows of `length`; bits that squares lose; behind the point of a normalized value; that a product loses before the bias is
 * added; behind the point of a result. */
typedef struct {
    int32_t rows, length, square_shift, value_bits, product_shift, result_bits;
} aidge_ref_fixed_normalize;

/* What all values of a row are multiplied by: (value << up) * factor >> 32, << left, >> right. */
typedef struct {
    int32_t factor, up, left, right;
} aidge_ref_fixed_row;

AIDGE_KIT_INLINE uint32_t aidge_ref_pattern_at(const float *number)
{
    const float value = *number;
    uint32_t pattern;
    (void)memcpy(&pattern, &value, sizeof pattern);
    return pattern;
}

/* The values of a row in units of 2^(exponent - AIDGE_REF_FIXED_EXPONENT), as int32 in place of floats; returns their sum. */
AIDGE_KIT_NOINLINE int64_t aidge_ref_fixed_values(const float *row, int32_t *fixed, int32_t length, int32_t exponent)
{
    int64_t sum = 0;
    for (; length > 0; length--) {
        const uint32_t pattern = aidge_ref_pattern_at(row++);
        const int32_t shift = exponent + 3 - (int32_t)((pattern << 1) >> 24);
        int32_t value = shift > 31 ? 0 : (int32_t)(((pattern << 8) | 0x80000000u) >> shift);
        value = (pattern >> 31) != 0u ? -value : value;
        sum += value;
        *fixed++ = value;
    }
    return sum;
}

/* sum / count, towards 0; |sum| < 2^44, 0 < count < 2^15. */
static int32_t aidge_ref_fixed_mean(int64_t sum, int32_t count)
{
    const uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    const uint32_t high = (uint32_t)aidge_kit_shift_right(size, 16);
    const uint32_t whole = aidge_kit_divide_u32(high, (uint32_t)count);
    const uint32_t rest = ((high - whole * (uint32_t)count) << 16) | ((uint32_t)size & 0xFFFFu);
    const int32_t mean = (int32_t)((whole << 16) + aidge_kit_divide_u32(rest, (uint32_t)count));
    return sum < 0 ? -mean : mean;
}

/* value * 2^exponent, -126 <= exponent <= 127. */
static float aidge_ref_scaled(int32_t value, int32_t exponent)
{
    const uint32_t pattern = (uint32_t)(exponent + 127) << 23;
    float power;
    (void)memcpy(&power, &pattern, sizeof power);
    return (float)value * power;
}

/* Takes the mean away from a row, and says what makes it normal. */
AIDGE_KIT_NOINLINE aidge_ref_fixed_row aidge_ref_fixed_statistics(int32_t *fixed, int32_t mean, int32_t exponent, float epsilon,
                                                                  const aidge_ref_fixed_normalize *shape)
{
    const int32_t unit = exponent - AIDGE_REF_FIXED_EXPONENT;
    aidge_ref_fixed_row row;
    int64_t squares = 0;
    uint32_t sizes = 0;
    uint32_t pattern;
    int32_t excess, place, shift;
    float inverse;
    for (place = 0; place < shape->length; place++) {
        const int32_t value = fixed[place] - mean;
        const int32_t reduced = value >> shape->square_shift;
        squares += aidge_kit_product_s32(reduced, reduced);
        sizes |= (uint32_t)(value < 0 ? ~value : value);
        fixed[place] = value;
    }
    excess = aidge_kit_bits_u64((uint64_t)squares) - 31;
    excess = excess > 0 ? excess : 0;
    inverse = aidge_ref_scaled((int32_t)aidge_kit_shift_right((uint64_t)squares, excess),
                               excess + 2 * (shape->square_shift + unit));
    inverse = 1.0f / sqrtf(inverse / (float)shape->length + epsilon);
    pattern = aidge_ref_pattern_at(&inverse);
    row.factor = (int32_t)(((pattern & 0x7FFFFFu) | 0x800000u) << 7);
    row.up = 30 - aidge_kit_bits(sizes);
    shift = shape->value_bits + 32 + unit - row.up + (int32_t)(pattern >> 23) - 157;
    row.left = shift > 31 ? 31 : shift > 0 ? shift : 0; /* more than 30 only where all values are 0 */
    row.right = shift > 0 ? 0 : shift < -31 ? 31 : -shift;
    return row;
}

/* value / 2^bits, rounded. */
AIDGE_KIT_INLINE float aidge_ref_float_of(int32_t value, int32_t bits)
{
    const uint32_t sign = value < 0 ? 0x80000000u : 0u;
    const uint32_t size = (uint32_t)(value < 0 ? -value : value);
    const int32_t width = aidge_kit_bits(size);
    const int32_t excess = width - 24;
    uint32_t pattern = 0;
    float result;
    if (size != 0u) {
        pattern = excess > 0 ? (size + ((uint32_t)1 << (excess - 1))) >> excess : size << -excess;
        pattern += (uint32_t)(width + 125 - bits) << 23; /* with the leading bit of the fraction one more */
    }
    pattern |= sign;
    (void)memcpy(&result, &pattern, sizeof result);
    return result;
}

/* The results of a row. */
AIDGE_KIT_NOINLINE void aidge_ref_fixed_results(const int32_t *fixed, float *output, const int32_t *scale, const int32_t *bias,
                                                const aidge_ref_fixed_row *row, const aidge_ref_fixed_normalize *shape)
{
    const aidge_ref_fixed_row by = *row;
    int32_t place;
    for (place = 0; place < shape->length; place++) {
        const int32_t whole = (int32_t)((uint32_t)fixed[place] << by.up);
        const int32_t high = (int32_t)((uint64_t)aidge_kit_product_s32(whole, by.factor) >> 32);
        const int32_t value = (int32_t)((uint32_t)high << by.left) >> by.right;
        const int32_t product = (int32_t)((uint64_t)aidge_kit_product_s32(value, scale[place]) >> 32) >> shape->product_shift;
        output[place] = aidge_ref_float_of(bias != NULL ? product + bias[place] : product, shape->result_bits);
    }
}

/* All rows; epsilon points at one number. scale, bias: as they are in float32, and in integers. */
static void aidge_ref_normalize_fixed_float32(const float *input, const float *scale, const float *bias, float *output,
                                              const int32_t *fixed_scale, const int32_t *fixed_bias, const float *epsilon,
                                              int32_t with_mean, void *scratch, const aidge_ref_fixed_normalize *shape)
{
    const aidge_ref_normalize_shape plain = {shape->rows, shape->length, 1, 0, 1};
    int32_t *const fixed = (int32_t *)scratch;
    int32_t left, place;
    for (left = shape->rows; left > 0; left--) {
        uint32_t largest = 0;
        int32_t exponent;
        for (place = 0; place < shape->length; place++) {
            uint32_t size = aidge_ref_pattern_at(input + place) << 1;
            AIDGE_KIT_ONE_BY_ONE(size);
            largest = size > largest ? size : largest;
        }
        exponent = (int32_t)(largest >> 24);
        if ((exponent < AIDGE_REF_LEAST_EXPONENT) || (exponent > AIDGE_REF_MOST_EXPONENT)) {
            float statistics[2];
            aidge_ref_row_statistics(input, shape->length, with_mean, *epsilon, statistics);
            aidge_ref_normalize_row(input, scale, bias, output, statistics, 0, &plain);
        } else {
            const int64_t sum = aidge_ref_fixed_values(input, fixed, shape->length, exponent);
            const int32_t mean = with_mean != 0 ? aidge_ref_fixed_mean(sum, shape->length) : 0;
            const aidge_ref_fixed_row row = aidge_ref_fixed_statistics(fixed, mean, exponent, *epsilon, shape);
            aidge_ref_fixed_results(fixed, output, fixed_scale, fixed_bias, &row, shape);
        }
        input += shape->length;
        output += shape->length;
    }
}
