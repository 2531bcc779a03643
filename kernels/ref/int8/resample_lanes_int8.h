/* SPDX-License-Identifier: 0BSD */
#include "kit/resample_lanes.h"

/* Resizing along rows and columns with two taps each. */
AIDGE_KIT_INLINE void aidge_ref_resample_lanes(const int8_t *input, int8_t *output, const int32_t *rows, const int32_t *columns,
                                               const aidge_kit_lanes_levels *levels, const aidge_kit_lanes_shape *shape,
                                               int32_t form)
{
    int32_t image, row;
    for (image = 0; image < shape->images; image++) {
        for (row = 0; row < shape->rows; row++) {
            const aidge_kit_lanes_row place = aidge_kit_lanes_row_of(input, rows, row, columns, shape);
            aidge_kit_lanes_columns(&place, output, columns, levels, form);
            output += shape->columns * shape->run;
        }
        input += shape->step;
    }
}

AIDGE_KIT_NOINLINE void aidge_ref_resample_lanes_scaled(const int8_t *input, int8_t *output, const int32_t *rows,
                                                        const int32_t *columns, const aidge_kit_lanes_levels *levels,
                                                        const aidge_kit_lanes_shape *shape)
{
    aidge_ref_resample_lanes(input, output, rows, columns, levels, shape, 0);
}

AIDGE_KIT_NOINLINE void aidge_ref_resample_lanes_even(const int8_t *input, int8_t *output, const int32_t *rows,
                                                        const int32_t *columns, const aidge_kit_lanes_levels *levels,
                                                        const aidge_kit_lanes_shape *shape)
{
    aidge_ref_resample_lanes(input, output, rows, columns, levels, shape, 1);
}

AIDGE_KIT_NOINLINE void aidge_ref_resample_lanes_clamped(const int8_t *input, int8_t *output, const int32_t *rows,
                                                        const int32_t *columns, const aidge_kit_lanes_levels *levels,
                                                        const aidge_kit_lanes_shape *shape)
{
    aidge_ref_resample_lanes(input, output, rows, columns, levels, shape, 2);
}
