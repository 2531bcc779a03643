/* SPDX-License-Identifier: 0BSD */
#include "limited.h"

/* Rows of values, each of which becomes a row of outputs; what the assembly knows, in this order. Steps in bytes. */
typedef struct {
    int32_t rows;
    int32_t input_step, output_step; /* to the next row */
    int32_t next;                    /* from the end of an output row to the begin of the one four rows on */
    int32_t groups, turns;           /* of outputs, and the turns of the loop over a row's values */
    int32_t more_groups, more_turns; /* the same of smaller groups behind them */
} aidge_helium_gathered_float32;

#if !AIDGE_HELIUM_ASSEMBLY
/* The stream has biases and then one weight for each value, of each group of `outputs` and then of `more` outputs. */
static void aidge_helium_gathered_plain_float32(const float *x, float *y, const float *stream, const float *limits,
                                                const aidge_helium_gathered_float32 *shape, int32_t outputs, int32_t more)
{
    const int32_t values = shape->input_step / 4;
    int32_t row, group, output, value;
    for (row = 0; row < shape->rows; row++) {
        const float *numbers = stream;
        float *to = y;
        for (group = 0; group < shape->groups + shape->more_groups; group++) {
            const int32_t together = group < shape->groups ? outputs : more;
            for (output = 0; output < together; output++) {
                float sum = numbers[output];
                for (value = 0; value < values; value++) {
                    sum += x[value] * numbers[(value + 1) * together + output];
                }
                *to++ = aidge_helium_limited_float32(sum, limits);
            }
            numbers += (values + 1) * together;
        }
        x += values;
        y += shape->output_step / 4;
    }
}
#endif
