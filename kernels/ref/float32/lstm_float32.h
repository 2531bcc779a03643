/* SPDX-License-Identifier: 0BSD */
#include <stddef.h>
#include "recurrent.h"

/* Gates i, o, f, n = W x + R h + b, with peepholes; c = f c + i n; h = o tanh(c) */
static inline void aidge_ref_lstm_step(const aidge_ref_recurrent_inputs *in, float *h, float *c, int32_t direction,
                                       const aidge_kit_recurrent_shape *shape)
{
    const int32_t hidden = shape->hidden;
    const int32_t *functions = shape->functions + 3 * direction;
    const float *peepholes = in->peepholes ? in->peepholes + 3 * direction * hidden : in->peepholes;
    const float limit = *in->limit;
    float *gates = in->gates;
    int32_t row;
    for (row = 0; row < 4 * hidden; row++) {
        gates[row] = aidge_ref_recurrent_dot(in->weights + row * shape->inputs, in->x, shape->inputs)
                     + aidge_ref_recurrent_dot(in->recurrence + row * hidden, h, hidden)
                     + aidge_ref_recurrent_bias(in->bias, 4 * hidden, direction, 0, row)
                     + aidge_ref_recurrent_bias(in->bias, 4 * hidden, direction, 1, row);
    }
    for (row = 0; row < hidden; row++) {
        const float old = c[row];
        const float into = gates[row] + (peepholes ? peepholes[row] * old : 0.0f);
        const float forget = gates[2 * hidden + row] + (peepholes ? peepholes[2 * hidden + row] * old : 0.0f);
        const float whole = aidge_ref_recurrent_function(functions[0], forget, limit) * old
                            + aidge_ref_recurrent_function(functions[0], into, limit)
                                  * aidge_ref_recurrent_function(functions[1], gates[3 * hidden + row], limit);
        const float cell = whole > in->limit[1] ? in->limit[1] : whole < -in->limit[1] ? -in->limit[1] : whole;
        const float out = gates[hidden + row] + (peepholes ? peepholes[hidden + row] * cell : 0.0f);
        c[row] = cell;
        h[row] = aidge_ref_recurrent_function(functions[0], out,
                limit) * aidge_ref_recurrent_function(functions[2], cell, INFINITY);
    }
}

/* LSTM over all sequences and directions; scratch: one float for each gate (GRU: and state) of each unit. */
static void aidge_ref_lstm_float32(const float *x, const float *weights, const float *recurrence,
                                   const float *bias, const int32_t *lengths,
    const float *initial_h, const float *initial_c, const float *peepholes, float *y, float *last_h,
            float *last_c, void *scratch, const float *limit, const aidge_kit_recurrent_shape *shape)
{
    aidge_ref_recurrent_inputs in;
    const int32_t hidden = shape->hidden;
    const int32_t rows = shape->gates * hidden;
    int32_t direction, batch, t;
    in.bias = bias;
    in.peepholes = peepholes;
    in.limit = limit;
    in.gates = (float *)scratch;
    for (direction = 0; direction < shape->directions; direction++) {
        in.weights = weights + direction * rows * shape->inputs;
        in.recurrence = recurrence + direction * rows * hidden;
        for (batch = 0; batch < shape->batches; batch++) {
            const int32_t length = aidge_kit_recurrent_length(lengths, batch, shape->steps);
            const int32_t place = direction * shape->h_direction + batch * shape->h_batch;
            float *h = last_h + place;
            float *out = y + direction * shape->y_direction + batch * shape->y_batch;
            float *c = last_c + place;
            if (initial_c != NULL) {
                (void)memcpy(c, initial_c + place, (uint32_t)hidden * sizeof *c);
            } else {
                (void)memset(c, 0, (uint32_t)hidden * sizeof *c);
            }
            if (initial_h != NULL) {
                (void)memcpy(h, initial_h + place, (uint32_t)hidden * sizeof *h);
            } else {
                (void)memset(h, 0, (uint32_t)hidden * sizeof *h);
            }
            for (t = 0; t < length; t++) {
                const int32_t time = shape->backwards[direction] != 0 ? length - 1 - t : t;
                in.x = x + time * shape->x_time + batch * shape->x_batch;
                aidge_ref_lstm_step(&in, h, c, direction, shape);
                (void)memcpy(out + time * shape->y_time, h, (uint32_t)hidden * sizeof *h);
            }
            for (; t < shape->steps; t++) {
                (void)memset(out + t * shape->y_time, 0, (uint32_t)hidden * sizeof *h);
            }
        }
    }
}
