/* SPDX-License-Identifier: 0BSD */
#include <stddef.h>
#include "recurrent.h"

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

/* RNN over all sequences and directions; scratch: one float for each gate (GRU: and state) of each unit. */
static void aidge_ref_rnn_float32(const float *x, const float *weights, const float *recurrence,
                                  const float *bias, const int32_t *lengths,
    const float *initial_h, float *y, float *last_h, void *scratch, const float *limit, const aidge_kit_recurrent_shape *shape)
{
    aidge_ref_recurrent_inputs in;
    const int32_t hidden = shape->hidden;
    const int32_t rows = shape->gates * hidden;
    int32_t direction, batch, t;
    in.bias = bias;
    in.peepholes = NULL;
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

            if (initial_h != NULL) {
                (void)memcpy(h, initial_h + place, (uint32_t)hidden * sizeof *h);
            } else {
                (void)memset(h, 0, (uint32_t)hidden * sizeof *h);
            }
            for (t = 0; t < length; t++) {
                const int32_t time = shape->backwards[direction] != 0 ? length - 1 - t : t;
                in.x = x + time * shape->x_time + batch * shape->x_batch;
                aidge_ref_rnn_step(&in, h, direction, shape);
                (void)memcpy(out + time * shape->y_time, h, (uint32_t)hidden * sizeof *h);
            }
            for (; t < shape->steps; t++) {
                (void)memset(out + t * shape->y_time, 0, (uint32_t)hidden * sizeof *h);
            }
        }
    }
}
