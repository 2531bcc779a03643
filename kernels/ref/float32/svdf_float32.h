/* SPDX-License-Identifier: 0BSD */
#include "float32/dot_float32.h"
#include "shared/svdf_shape.h"

/*
 * next = state without the oldest feature of each filter, with the latest one; output = clamp(bias + sums over times and
 * filters); float32. `next` may be `state`.
 *
 * features: [filters][inputs]; times: [filters][memory]; bias: [filters / rank]; bounds: {lowest, highest}.
 */
static void aidge_ref_svdf_float32(const float *input, const float *state, float *next, float *output, const float *features,
                                   const float *times, const float *bias, const float *bounds, const aidge_ref_svdf_shape *shape)
{
    const int32_t last = shape->memory - 1;
    int32_t batch, filter, time;
    for (batch = 0; batch < shape->batches; batch++) {
        float sum = 0.0f;
        for (filter = 0; filter < shape->filters; filter++) {
            const float latest = aidge_ref_dot_float32(input, features + filter * shape->inputs, shape->inputs);
            const float *weights = times + filter * shape->memory;
            for (time = 0; time < last; time++) {
                next[time] = state[time + 1];
                sum += next[time] * weights[time];
            }
            next[last] = latest;
            sum += latest * weights[last];
            state += shape->memory;
            next += shape->memory;
            if (aidge_kit_modulo(filter + 1, shape->rank) == 0) {
                sum += bias[aidge_kit_divide(filter, shape->rank)];
                sum = sum < bounds[0] ? bounds[0] : sum;
                *output++ = sum > bounds[1] ? bounds[1] : sum;
                sum = 0.0f;
            }
        }
        input += shape->inputs;
    }
}
