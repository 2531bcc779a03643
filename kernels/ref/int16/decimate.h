/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* `rows` of `samples`, of each `results`, one every `step`. */
typedef struct {
    int32_t rows, samples, results, step, taps;
} aidge_ref_decimate_shape;

/* output = (the sum of products with the taps + 2^14) >> 15, within int16; sums are within int32. */
static void aidge_ref_decimate_int16(const int16_t *input, int16_t *output, const int16_t *taps,
                                     const aidge_ref_decimate_shape *shape)
{
    int32_t row, result, i;
    for (row = 0; row < shape->rows; row++) {
        const int16_t *x = input;
        for (result = 0; result < shape->results; result++) {
            int32_t sum = (int32_t)1 << 14;
            for (i = 0; i + 4 <= shape->taps; i += 4) {
                sum += x[i] * taps[i];
                sum += x[i + 1] * taps[i + 1];
                sum += x[i + 2] * taps[i + 2];
                sum += x[i + 3] * taps[i + 3];
            }
            for (; i < shape->taps; i++) {
                sum += x[i] * taps[i];
            }
            sum >>= 15;
            *output++ = (int16_t)(sum < -32768 ? -32768 : sum > 32767 ? 32767 : sum);
            x += shape->step;
        }
        input += shape->samples;
    }
}
