/* SPDX-License-Identifier: 0BSD */
#include "double/elements.h"
#include "shared/svdf_shape.h"

/*
 * next = state without the oldest feature of each filter, with the latest one; output = bias + sums over times and filters;
 * int8, with a state of int16. `next` may be `state`.
 *
 * features: [filters][inputs]; times: [filters][memory]; bias: [filters / rank]; numbers: {zero point of the input, multiplier
 * and shift of features, of sums, zero point of the output}.
 * Ranges: the generator has proved that no feature leaves int32, also shifted to the left; sums over time wrap around.
 */
static void aidge_ref_svdf_double(const int8_t *input, const int16_t *state, int16_t *next, int8_t *output,
                                  const int8_t *features, const int16_t *times, const int32_t *bias, const int32_t *numbers,
                                  const aidge_ref_svdf_shape *shape)
{
    const int32_t last = shape->memory - 1;
    int32_t batch, filter, time, i;
    for (batch = 0; batch < shape->batches; batch++) {
        const int8_t *w = features;
        const int16_t *t = times;
        uint32_t sum = 0;
        for (filter = 0; filter < shape->filters; filter++) {
            int32_t latest = 0;
            for (i = 0; i < shape->inputs; i++) {
                latest += (input[i] - numbers[0]) * *w++;
            }
            latest = aidge_ref_between_double(aidge_kit_scale_fixed(latest, numbers[1], numbers[2]), -32768, 32767);
            for (time = 0; time < last; time++) {
                next[time] = state[time + 1];
                sum += (uint32_t)(next[time] * t[time]);
            }
            next[last] = (int16_t)latest;
            sum += (uint32_t)(latest * t[last]);
            t += shape->memory;
            state += shape->memory;
            next += shape->memory;
            if (aidge_kit_modulo(filter + 1, shape->rank) == 0) {
                sum += (uint32_t)bias[aidge_kit_divide(filter, shape->rank)];
                latest = aidge_kit_scale_fixed((int32_t)sum, numbers[3], numbers[4]) + numbers[5];
                *output++ = (int8_t)aidge_ref_between_double(latest, -128, 127);
                sum = 0;
            }
        }
        input += shape->inputs;
    }
}
