/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/* Steps in elements: of the data and of the output, from one step in time to the next and from one sequence to the next. */
typedef struct {
    int32_t batches, steps, inputs, units;
    int32_t in_time, in_batch, out_time, out_batch;
} aidge_ref_lstm_shape;
