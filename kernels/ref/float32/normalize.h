/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"
#include "kit/multiply_add.h"

/*
 * Rows of `length` neighbouring elements. Element i of a row has the parameters number
 * row % period * step + i / run.
 */
typedef struct {
    int32_t rows, length, period, step, run;
} aidge_ref_normalize_shape;

/* Mean (0 if not wanted) and 1 / sqrt(variance + epsilon) of a row. */
static inline void aidge_ref_row_statistics(const float *row, int32_t length, int32_t with_mean, float epsilon, float *statistics)
{
    float mean = 0.0f;
    float squares = 0.0f;
    int32_t i;
    if (with_mean != 0) {
        for (i = 0; i < length; i++) {
            mean += row[i];
        }
        mean /= (float)length;
    }
    for (i = 0; i < length; i++) {
        squares = aidge_kit_multiply_add(row[i] - mean, row[i] - mean, squares);
    }
    statistics[0] = mean;
    statistics[1] = 1.0f / sqrtf(squares / (float)length + epsilon);
}

/* output = (x - mean) / sqrt(variance + epsilon) * scale + bias, float32; bias may be 0. Without mean: of squares alone. */
static inline void aidge_ref_normalize_row(const float *row, const float *scale, const float *bias,
                                           float *output, const float *statistics,
                                           int32_t index, const aidge_ref_normalize_shape *shape)
{
    const int32_t first = index % shape->period * shape->step;
    int32_t i;
    for (i = 0; i < shape->length; i++) {
        const int32_t place = first + i / shape->run;
        const float normal = (row[i] - statistics[0]) * statistics[1];
        output[i] = bias ? aidge_kit_multiply_add(normal, scale[place], bias[place]) : normal * scale[place];
    }
}
