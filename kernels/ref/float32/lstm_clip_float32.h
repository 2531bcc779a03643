/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "float32/dot_float32.h"
#include "shared/lstm_shape.h"

/*
 * LSTM, float32, whose cell stays within -clip..clip unless clip is 0. `next` may be `cell`; rows of the output: hidden values.
 *
 * weights: [4 * units][inputs], recurrence: [4 * units][units], bias: [4 * units], in the order input, forget, cell, output gate.
 */
static void aidge_ref_lstm_clip_float32(const float *input, const float *hidden, const float *cell, float *next, float *output,
                                        const float *weights, const float *recurrence, const float *bias, const float *clip,
                                        const aidge_ref_lstm_shape *shape)
{
    const int32_t units = shape->units;
    int32_t batch, step, unit, gate;
    for (batch = 0; batch < shape->batches; batch++) {
        const float *x = input + batch * shape->in_batch;
        const float *before = hidden + batch * units;
        const float *kept = cell + batch * units;
        float *after = next + batch * units;
        float *y = output + batch * shape->out_batch;
        for (step = 0; step < shape->steps; step++) {
            for (unit = 0; unit < units; unit++) {
                float gates[4];
                float value;
                for (gate = 0; gate < 4; gate++) {
                    const int32_t row = gate * units + unit;
                    const float sum = bias[row] + aidge_ref_dot_float32(x, weights + row * shape->inputs, shape->inputs)
                                      + aidge_ref_dot_float32(before, recurrence + row * units, units);
                    gates[gate] = gate == 2 ? tanhf(sum) : 1.0f / (1.0f + expf(-sum));
                }
                value = gates[1] * kept[unit] + gates[0] * gates[2];
                if (*clip > 0.0f) {
                    value = value < -*clip ? -*clip : value > *clip ? *clip : value;
                }
                after[unit] = value;
                y[unit] = gates[3] * tanhf(value);
            }
            before = y;
            kept = after;
            x += shape->in_time;
            y += shape->out_time;
        }
    }
}
