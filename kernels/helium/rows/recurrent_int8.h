/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"
#include "kit/cells.h"
#include "kit/common_exponent.h"

#define AIDGE_HELIUM_RECURRENT_BITS 22

typedef struct {
    float of_data, of_state;
} aidge_helium_recurrent_units;

/*
 * Floats as integers of 22 bits with one exponent, which is returned as their unit, in three signed digits of 8 bits, lowest
 * first; those of 16 values lie together.
 */
AIDGE_KIT_NOINLINE float aidge_helium_recurrent_digits(int8_t *digits, const float *values, int32_t *integers, int32_t count)
{
    const float unit = aidge_kit_common_exponent(values, integers, count, AIDGE_HELIUM_RECURRENT_BITS);
    int32_t index;
    for (index = 0; index < count; index++) {
        int8_t *const place = digits + 48 * (index >> 4) + (index & 15);
        const int32_t middle = (integers[index] + 128) >> 8;
        place[0] = (int8_t)(integers[index] - 256 * middle);
        place[16] = (int8_t)(middle - 256 * ((middle + 128) >> 8));
        place[32] = (int8_t)((middle + 128) >> 8);
    }
    return unit;
}

/* The sum of products over 256. */
AIDGE_KIT_INLINE int32_t aidge_helium_digit_sum(const int8_t *weights, const int8_t *digits, int32_t count)
{
    int32_t sums[3] = {0, 0, 0};
    int32_t index, digit;
    for (index = 0; index < count; index++) {
        for (digit = 0; digit < 3; digit++) {
            sums[digit] += weights[index] * digits[48 * (index >> 4) + 16 * digit + (index & 15)];
        }
    }
    return sums[2] * 256 + sums[1] + (sums[0] >> 8);
}

/* The C version of recurrent_sums.py. */
AIDGE_KIT_NOINLINE void aidge_helium_row_sums(const int8_t *x, float *sums, const int32_t *stream, const int32_t *end,
    const int8_t *state, const aidge_helium_recurrent_units *units, int32_t data, int32_t are_bytes, int32_t hidden)
{
    for (; stream != end; sums += 4) {
        const int8_t *const of_data = (const int8_t *)(const void *)(stream + 4);
        const int8_t *const after_data = of_data + 4 * data;
        const int8_t *const by_data = after_data + (are_bytes != 0 ? 16 : 0);
        const int8_t *const of_state = by_data + (data > 0 ? 16 : 0);
        const int8_t *const by_state = of_state + 4 * hidden;
        int32_t row, index;
        for (row = 0; row < 4; row++) {
            float sum = aidge_helium_float((const int8_t *)(const void *)(stream + row));
            if (are_bytes != 0) {
                int32_t total = aidge_helium_word(after_data + 4 * row);
                for (index = 0; index < data; index++) {
                    total += x[index] * of_data[row * data + index];
                }
                sum += (float)total * aidge_helium_float(by_data + 4 * row);
            } else if (data > 0) {
                const int32_t total = aidge_helium_digit_sum(of_data + row * data, x, data);
                sum += (float)total * units->of_data * aidge_helium_float(by_data + 4 * row);
            } else {
                /* no columns of this kind */
            }
            if (hidden > 0) {
                const int32_t total = aidge_helium_digit_sum(of_state + row * hidden, state, hidden);
                sum += (float)total * units->of_state * aidge_helium_float(by_state + 4 * row);
            }
            sums[row] = sum;
        }
        stream = (const int32_t *)(const void *)(by_state + (hidden > 0 ? 16 : 0));
    }
}
