/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/* Images, planes, rows and columns of the output, how many elements of the input each sees along these axes; channels. */
typedef struct {
    int32_t dims[4], taps[4];
    int32_t run;
} aidge_helium_resample_shape;

/*
 * The rows that output row `above` sees, and their factors. Returns where the lists of columns begin. offsets (in elements) and
 * weights: one list after another, for each axis [dims][taps].
 */
AIDGE_KIT_NOINLINE int32_t aidge_helium_resample_rows(const float **rows, float *factors, const float *input, int32_t above,
                                                      const int32_t *offsets, const float *weights,
                                                      const aidge_helium_resample_shape *shape)
{
    const int32_t *const taps = shape->taps;
    const int32_t *const dims = shape->dims;
    const int32_t planes = dims[0] * taps[0];
    const int32_t lines = planes + dims[1] * taps[1];
    const int32_t first = above / dims[2] / dims[1] * taps[0];
    const int32_t plane = planes + above / dims[2] % dims[1] * taps[1];
    const int32_t line = lines + above % dims[2] * taps[2];
    int32_t i, j;
    for (i = plane; i < plane + taps[1]; i++) {
        for (j = line; j < line + taps[2]; j++) {
            *rows++ = input + offsets[first] + offsets[i] + offsets[j];
            *factors++ = weights[i] * weights[j];
        }
    }
    return lines + dims[2] * taps[2];
}
