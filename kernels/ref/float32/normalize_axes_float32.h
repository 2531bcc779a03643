/* SPDX-License-Identifier: 0BSD */
#include "shared/float_model.h"
#include "any/reduce.h"

/* output = (x - mean) / (deviation + 1e-9) over the reduced axes, float32. */
static void aidge_ref_normalize_axes_float32(const float *input, float *output, const aidge_ref_reduce_shape *shape)
{
    int32_t o, i;
    for (o = 0; o < shape->outputs; o++) {
        const int32_t first = aidge_ref_kept_at(shape, o);
        float mean = 0.0f;
        float squares = 0.0f;
        float factor;
        for (i = 0; i < shape->count; i++) {
            mean += input[first + aidge_ref_reduced_at(shape, i)];
        }
        mean /= (float)shape->count;
        for (i = 0; i < shape->count; i++) {
            const float x = input[first + aidge_ref_reduced_at(shape, i)] - mean;
            squares += x * x;
        }
        factor = 1.0f / (sqrtf(squares / (float)shape->count) + 1e-9f);
        for (i = 0; i < shape->count; i++) {
            const int32_t place = first + aidge_ref_reduced_at(shape, i);
            output[place] = (input[place] - mean) * factor;
        }
    }
}
