/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "kit/recurrent.h"
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
        return tanhf(x);
    }
    return function == 1 ? 1.0f / (1.0f + expf(-x)) : x < 0.0f ? 0.0f : x;
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
