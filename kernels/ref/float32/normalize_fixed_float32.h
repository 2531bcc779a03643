/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "kit/wide.h"
#include "normalize.h"

/*
 * Rows normalized in integers, for cores without an FPU: float32 in and out. A row is brought to the exponent of its largest
 * value; its mean is exact to 2^-27 of that, the squares are added up in 64 bits, and the root of their mean is one of integers.
 *
 * Rows whose largest value is tiny, huge or no number are normalized in float32.
 */
enum { AIDGE_REF_LEAST_EXPONENT = 96, AIDGE_REF_MOST_EXPONENT = 180, AIDGE_REF_FIXED_EXPONENT = 155 };

/* Rows of `length`; bits that squares lose; behind the point of a normalized value; that a product loses before the bias is
 * added; behind the point of a result. 1 / length is inverse_length / 2^length_bits, what is added to the mean square
 * epsilon * 2^epsilon_exponent; both numbers are from 2^30 on and below 2^31. */
typedef struct {
    int32_t rows, length, square_shift, value_bits, product_shift, result_bits;
    int32_t inverse_length, length_bits, epsilon, epsilon_exponent;
} aidge_ref_fixed_normalize;

/* The factor of all values of a row: (value << up) * factor >> 32, << left, >> right. */
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

/* The upper half of a product. */
AIDGE_KIT_INLINE uint32_t aidge_ref_upper(uint32_t a, uint32_t b)
{
    return (uint32_t)(aidge_kit_product(a, b) >> 32);
}

/* The same of numbers with signs, where a core has no long product less at most 2. */
AIDGE_KIT_INLINE int32_t aidge_ref_upper_s32(int32_t a, int32_t b)
{
#if AIDGE_KIT_NARROW
    const int32_t a_low = (int32_t)((uint32_t)a & 0xFFFFu);
    const int32_t b_low = (int32_t)((uint32_t)b & 0xFFFFu);
    return (a >> 16) * (b >> 16) + (((a >> 16) * b_low) >> 16) + ((a_low * (b >> 16)) >> 16);
#else
    return (int32_t)((uint64_t)aidge_kit_product_s32(a, b) >> 32);
#endif
}

/* 2^30 / sqrt(x), x = value / 2^32 from 1/4 on, less at most 2^-24 of it: three steps of Newton's method from a line that is off
 * by at most 8.7 %, each of which makes an error e one of -3/2 e^2. */
static uint32_t aidge_ref_inverse_root(uint32_t value)
{
    uint32_t root = 2289969127u - aidge_ref_upper(value, 1308569120u);
    int32_t step;
    AIDGE_KIT_ROLLED
    for (step = 3; step > 0; step--) {
        const uint32_t square = aidge_ref_upper(root, root); /* 28 bits after the point */
        const uint32_t rest = 0xC0000000u - (aidge_ref_upper(square, value) << 2); /* 3 - x * root^2, 30 bits */
        root = aidge_ref_upper(root, rest) << 1;
    }
    return root;
}

/* To the right by any number of bits. */
static inline uint32_t aidge_ref_moved_right(uint32_t value, int32_t bits)
{
    return bits < 32 ? value >> bits : 0u;
}

/* sum / length = result * 2^exponent, less at most 2^-29 of it. */
AIDGE_KIT_INLINE uint32_t aidge_ref_over_length(uint64_t sum, const aidge_ref_fixed_normalize *shape, int32_t *exponent)
{
    const int32_t excess = aidge_kit_bits_u64(sum) - 32;
    const uint32_t leading = excess > 0 ? (uint32_t)aidge_kit_shift_right(sum, excess)
                             : sum != 0u ? (uint32_t)sum << -excess : 0u;
    *exponent = excess + 32 - shape->length_bits;
    return aidge_ref_upper(leading, (uint32_t)shape->inverse_length);
}

/* sum / length, within 2 of it; |sum| < 2^29 * length. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_fixed_mean(int64_t sum, const aidge_ref_fixed_normalize *shape)
{
    int32_t exponent;
    const uint32_t mean = aidge_ref_over_length((uint64_t)(sum < 0 ? -sum : sum), shape, &exponent);
    const int32_t size = (int32_t)aidge_ref_moved_right(mean, -exponent);
    return sum < 0 ? -size : size;
}

/* 1 / sqrt(squares * 2^unit / length + epsilon) = result * 2^exponent, a result of 31 bits. */
AIDGE_KIT_NOINLINE int32_t aidge_ref_fixed_inverse(uint64_t squares, int32_t unit, const aidge_ref_fixed_normalize *shape,
                                                   int32_t *exponent)
{
    const int32_t of_epsilon = shape->epsilon_exponent;
    int32_t of_mean, of_sum, left;
    const uint32_t mean = aidge_ref_over_length(squares, shape, &of_mean);
    uint32_t sum, root;
    of_mean += unit;
    of_sum = (mean != 0u) && (of_mean > of_epsilon) ? of_mean : of_epsilon;
    sum = aidge_ref_moved_right((uint32_t)shape->epsilon, of_sum - of_epsilon);
    sum += mean != 0u ? aidge_ref_moved_right(mean, of_sum - of_mean) : 0u;
    left = 32 - aidge_kit_bits(sum);
    left -= (of_sum - left) & 1; /* an exponent of which there is a half */
    root = aidge_ref_inverse_root(left >= 0 ? sum << left : sum >> 1);
    *exponent = -46 - (of_sum - left) / 2;
    return (int32_t)(root < 0x80000000u ? root : 0x7FFFFFFFu);
}

/* Takes the mean away from a row, and says what makes it normal. */
AIDGE_KIT_NOINLINE aidge_ref_fixed_row aidge_ref_fixed_statistics(int32_t *fixed, int32_t mean, int32_t exponent,
                                                                  const aidge_ref_fixed_normalize *shape)
{
    const int32_t unit = exponent - AIDGE_REF_FIXED_EXPONENT;
    aidge_ref_fixed_row row;
    int64_t squares = 0;
    uint32_t sizes = 0;
    int32_t place, shift, power;
    for (place = 0; place < shape->length; place++) {
        const int32_t value = fixed[place] - mean;
        const int32_t reduced = value >> shape->square_shift;
        squares += aidge_kit_product_s32(reduced, reduced);
        sizes |= (uint32_t)(value < 0 ? ~value : value);
        fixed[place] = value;
    }
    row.factor = aidge_ref_fixed_inverse((uint64_t)squares, 2 * (shape->square_shift + unit), shape, &power);
    row.up = 30 - aidge_kit_bits(sizes);
    shift = shape->value_bits + 32 + unit - row.up + power;
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
        const int32_t high = aidge_ref_upper_s32(whole, by.factor);
        const int32_t value = (int32_t)((uint32_t)high << by.left) >> by.right;
        const int32_t product = aidge_ref_upper_s32(value, scale[place]) >> shape->product_shift;
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
            const int32_t mean = with_mean != 0 ? aidge_ref_fixed_mean(sum, shape) : 0;
            const aidge_ref_fixed_row row = aidge_ref_fixed_statistics(fixed, mean, exponent, shape);
            aidge_ref_fixed_results(fixed, output, fixed_scale, fixed_bias, &row, shape);
        }
        input += shape->length;
        output += shape->length;
    }
}
