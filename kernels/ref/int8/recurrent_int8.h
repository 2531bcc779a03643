/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/cells.h"
#include "kit/common_exponent.h"

#define AIDGE_REF_RECURRENT_BITS 23

/* The scratch begins with the units of the integers that the data and the state become, before x; the integers of the state
 * follow x. */
#define AIDGE_REF_RECURRENT_DATA_UNIT 0
#define AIDGE_REF_RECURRENT_STATE_UNIT 1

/* Bytes less their zero point. */
AIDGE_KIT_NOINLINE void aidge_ref_recurrent_bytes(float *units, int32_t *integers, const int8_t *data, int32_t count,
                                                  int32_t zero_point)
{
    units[AIDGE_REF_RECURRENT_DATA_UNIT] = 1.0f;
    for (; count > 0; count--) {
        *integers++ = *data++ - zero_point;
    }
}

/* The sum of products: in the upper and in the lower 12 bits of the integers. */
static inline float aidge_ref_recurrent_dot_int8(const int8_t *weights, const int32_t *integers, int32_t count)
{
    int32_t upper = 0, lower = 0;
    for (; count > 0; count--) {
        const int32_t value = *integers++;
        const int32_t weight = *weights++;
        upper += (value >> 12) * weight;
        lower += (value & 4095) * weight;
    }
    return (float)upper * 4096.0f + (float)lower;
}

/* The same of integers that are bytes less a zero point. */
static inline float aidge_ref_recurrent_dot_bytes(const int8_t *weights, const int32_t *integers, int32_t count)
{
    int32_t sum = 0;
    for (; count > 0; count--) {
        sum += *integers++ * *weights++;
    }
    return (float)sum;
}

/*
 * sums = biases + factors * (weights x) + factors * (weights h), `features` values of x and `hidden` ones of h.
 * stream: for each row the bias, the two factors, and the bytes, to whole words. are_bytes: what x holds.
 */
AIDGE_KIT_NOINLINE void aidge_ref_recurrent_sums_int8(float *sums, int32_t rows, const int32_t *stream, const float *units,
    const int32_t *x, int32_t features, const int32_t *h, int32_t hidden, int32_t are_bytes)
{
    const int32_t words = 3 + ((features + hidden + 3) >> 2);
    for (; rows > 0; rows--) {
        const int8_t *bytes = (const int8_t *)(const void *)(stream + 3);
        float numbers[3], from_x, from_h;
        (void)memcpy(numbers, stream, sizeof numbers);
        from_x = are_bytes ? aidge_ref_recurrent_dot_bytes(bytes, x, features) : aidge_ref_recurrent_dot_int8(bytes, x, features);
        from_h = aidge_ref_recurrent_dot_int8(bytes + features, h, hidden);
        *sums++ = numbers[0] + numbers[1] * units[AIDGE_REF_RECURRENT_DATA_UNIT] * from_x
                  + numbers[2] * units[AIDGE_REF_RECURRENT_STATE_UNIT] * from_h;
        stream += words;
    }
}
