/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/*
 * A recurrent layer over sequences; all steps in elements. backwards: 1 for a direction that runs from the end.
 * functions: 0 tanh, 1 sigmoid, 2 relu; three for each direction.
 */
typedef struct {
    int32_t steps, batches, inputs, hidden, directions, gates;
    int32_t backwards[2];
    int32_t functions[6];
    int32_t x_time, x_batch;               /* in X */
    int32_t y_time, y_direction, y_batch;  /* in Y */
    int32_t h_direction, h_batch;          /* in the states */
    int32_t reset_after;
} aidge_kit_recurrent_shape;

/* How many elements of a sequence count. */
static inline int32_t aidge_kit_recurrent_length(const int32_t *lengths, int32_t batch, int32_t steps)
{
    int32_t length = lengths ? lengths[batch] : steps;
    length = length < 0 ? 0 : length;
    return length > steps ? steps : length;
}
