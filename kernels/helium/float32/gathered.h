/* SPDX-License-Identifier: 0BSD */
#include "strip.h"

/* Rows of values, each of which becomes a row of outputs; what the assembly knows, in this order. Steps in bytes. */
typedef struct {
    int32_t rows;
    int32_t input_step, output_step; /* to the next row */
    int32_t next;                    /* from the end of an output row to the begin of the one four rows on */
    int32_t groups, turns;           /* of outputs, and the turns of the loop over a row's values */
    int32_t more_groups, more_turns; /* the same of smaller groups behind them */
} aidge_helium_gathered_float32;

#if !AIDGE_HELIUM_ASSEMBLY
/* The stream has the groups of `outputs` and then of `more` outputs, each as that of strips. */
static void aidge_helium_gathered_plain_float32(const float *x, float *y, const float *stream, const float *limits,
                                                const aidge_helium_gathered_float32 *shape, int32_t outputs, int32_t more)
{
    const int32_t values = shape->input_step / 4;
    aidge_helium_strip_float32 strip;
    int32_t row;
    for (row = 0; row < shape->rows; row++) {
        const int32_t first = shape->groups * outputs;
        aidge_helium_row_strip_float32(&strip, x, limits, values, first);
        aidge_helium_pixels_float32(&strip, y, stream, 1, outputs);
        if (more > 0) {
            aidge_helium_row_strip_float32(&strip, x, limits, values, shape->more_groups * more);
            aidge_helium_pixels_float32(&strip, y + first, stream + first * (1 + values), 1, more);
        }
        x += values;
        y += shape->output_step / 4;
    }
}
#endif
