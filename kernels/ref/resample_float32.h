/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "float_model.h"

/* The dims of the output, slowest axis first, and how many input elements each output element of an axis looks at. */
typedef struct {
    int32_t dims[5], taps[5];
} aidge_ref_resample_shape;

/* The weighted sum for one output element: o[axis] and w[axis] are its offsets and weights along the axis. */
static inline float aidge_ref_resample_sum(const float *input, const int32_t *const *o, const float *const *w,
                                           const int32_t *taps)
{
    float sum = 0.0f;
    int32_t a, b, c, d, e;
    for (a = 0; a < taps[0]; a++) {
        for (b = 0; b < taps[1]; b++) {
            for (c = 0; c < taps[2]; c++) {
                const float *row = input + o[0][a] + o[1][b] + o[2][c];
                const float outer = w[0][a] * w[1][b] * w[2][c];
                for (d = 0; d < taps[3]; d++) {
                    for (e = 0; e < taps[4]; e++) {
                        sum += row[o[3][d] + o[4][e]] * (outer * w[3][d] * w[4][e]);
                    }
                }
            }
        }
    }
    return sum;
}

/*
 * Resizing with weights, float32. offsets and weights: one list after another, for each axis [dims][taps]; offsets in elements,
 * negative where the output is *fill.
 */
static void aidge_ref_resample_float32(const float *input, float *output, const int32_t *offsets,
                                       const float *weights, const float *fill,
                                       const aidge_ref_resample_shape *shape)
{
    int32_t index[5] = {0, 0, 0, 0, 0};
    int32_t axis;
    do {
        const int32_t *o[5];
        const float *w[5];
        int32_t start = 0;
        int32_t outside = 0;
        for (axis = 0; axis < 5; axis++) {
            const int32_t place = start + index[axis] * shape->taps[axis];
            o[axis] = offsets + place;
            w[axis] = weights + place;
            outside |= offsets[place] < 0;
            start += shape->dims[axis] * shape->taps[axis];
        }
        *output++ = outside != 0 ? *fill : aidge_ref_resample_sum(input, o, w, shape->taps);
        for (axis = 4; axis >= 0; axis--) {
            index[axis] += 1;
            if (index[axis] < shape->dims[axis]) {
                break;
            }
            index[axis] = 0;
        }
    } while (axis >= 0);
}
