/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kit/cells.h"
#include "kit/functions_float32.h"
#include "shared/float_model.h"

/* The run-time inputs; those that are not given are 0. limit: of what goes into functions, of an LSTM's cell. */
typedef struct {
    const float *x, *weights, *recurrence, *bias, *peepholes, *limit;
    float *gates; /* scratch: gates * hidden */
} aidge_ref_recurrent_inputs;

static inline float aidge_ref_recurrent_function(int32_t function, float x, float limit)
{
    x = x > limit ? limit : x < -limit ? -limit : x;
    if (function == 0) {
        return aidge_kit_tanh(x);
    }
    return function == 1 ? aidge_kit_logistic(x) : x < 0.0f ? 0.0f : x;
}

/* The sum of products of two vectors. */
static inline float aidge_ref_recurrent_dot(const float *a, const float *b, int32_t count)
{
    float sum = 0.0f;
    int32_t i;
    for (i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* The bias of row `row` of direction `direction`: those of the input and of the recurrence (part 0 and 1). */
static inline float aidge_ref_recurrent_bias(const float *bias, int32_t rows, int32_t direction, int32_t part, int32_t row)
{
    return bias ? bias[(2 * direction + part) * rows + row] : 0.0f;
}

/* h = f(W x + R h + b) */
static inline void aidge_ref_rnn_step(const aidge_ref_recurrent_inputs *in, float *h, int32_t direction,
                                      const aidge_kit_recurrent_shape *shape)
{
    const int32_t hidden = shape->hidden;
    int32_t row;
    for (row = 0; row < hidden; row++) {
        const float sum = aidge_ref_recurrent_dot(in->weights + row * shape->inputs, in->x, shape->inputs)
                          + aidge_ref_recurrent_dot(in->recurrence + row * hidden, h, hidden)
                          + aidge_ref_recurrent_bias(in->bias, hidden, direction, 0, row)
                          + aidge_ref_recurrent_bias(in->bias, hidden, direction, 1, row);
        in->gates[row] = aidge_ref_recurrent_function(shape->functions[3 * direction], sum, *in->limit);
    }
    (void)memcpy(h, in->gates, (uint32_t)hidden * sizeof *h);
}

/* Update z, reset r: f(W x + R h + b); n = g(W x + R (r h) + b), or with r (R h + b); h = (1 - z) n + z h */
static inline void aidge_ref_gru_step(const aidge_ref_recurrent_inputs *in, float *h, int32_t direction,
                                      const aidge_kit_recurrent_shape *shape)
{
    const int32_t hidden = shape->hidden;
    float *gates = in->gates;
    float *reset_h = gates + 3 * hidden;
    int32_t row;
    for (row = 0; row < 2 * hidden; row++) {
        const float sum = aidge_ref_recurrent_dot(in->weights + row * shape->inputs, in->x, shape->inputs)
                          + aidge_ref_recurrent_dot(in->recurrence + row * hidden, h, hidden)
                          + aidge_ref_recurrent_bias(in->bias, 3 * hidden, direction, 0, row)
                          + aidge_ref_recurrent_bias(in->bias, 3 * hidden, direction, 1, row);
        gates[row] = aidge_ref_recurrent_function(shape->functions[3 * direction], sum, *in->limit);
    }
    for (row = 0; row < hidden; row++) {
        reset_h[row] = gates[hidden + row] * h[row];
    }
    for (row = 2 * hidden; row < 3 * hidden; row++) {
        const float after = aidge_ref_recurrent_bias(in->bias, 3 * hidden, direction, 1, row);
        float sum = aidge_ref_recurrent_dot(in->weights + row * shape->inputs, in->x, shape->inputs)
                    + aidge_ref_recurrent_bias(in->bias, 3 * hidden, direction, 0, row);
        if (shape->reset_after != 0) {
            sum += gates[row - hidden] * (aidge_ref_recurrent_dot(in->recurrence + row * hidden, h, hidden) + after);
        } else {
            sum += aidge_ref_recurrent_dot(in->recurrence + row * hidden, reset_h, hidden) + after;
        }
        gates[row] = aidge_ref_recurrent_function(shape->functions[3 * direction + 1], sum, *in->limit);
    }
    for (row = 0; row < hidden; row++) {
        h[row] = (1.0f - gates[row]) * gates[2 * hidden + row] + gates[row] * h[row];
    }
}

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
