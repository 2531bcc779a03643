/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "float32.h"
#include "kit/window2d.h"

/*
 * Neighbouring windows that see as many rows and columns of the image; what the assembly reads, in this order. All steps are
 * bytes: from the end of a window's first pixel to the first one of the next window, from tap to tap, and from behind the last tap
 * of a row to the next row.
 */
typedef struct {
    int32_t rows, columns, advance, channels;
    int32_t step, row_step;
    float factor;
} aidge_cortexm_seen_of_pool;

/* The largest values of neighbouring windows, or their sums times the factor: the C version of the assembly. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_pooled_float32(int is_mean, int has_relu, float *output, const float *source,
                                                       const aidge_cortexm_seen_of_pool *seen, int32_t pixels)
{
    int32_t channel, row, column;
    for (; pixels > 0; pixels--) {
        for (channel = seen->channels; channel > 0; channel--) {
            const float *tap = source;
            float result = is_mean != 0 ? 0.0f : *source;
            for (row = seen->rows; row > 0; row--) {
                for (column = seen->columns; column > 0; column--) {
                    result = is_mean != 0 ? result + *tap : *tap > result ? *tap : result;
                    tap += seen->step / 4;
                }
                tap += seen->row_step / 4;
            }
            result = is_mean != 0 ? aidge_cortexm_kept(result * seen->factor) : result;
            *output++ = (has_relu != 0) && (result < 0.0f) ? 0.0f : result;
            source++;
        }
        source += seen->advance / 4;
    }
}

/* How many windows from the one at column x on see all their columns; 1 where that one does not. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_pools_together(int32_t left, int32_t x, const aidge_kit_window2d *shape)
{
    const int32_t room = shape->in_width - 1 - (shape->kernel_width - 1) * shape->dilation_width - left;
    const int32_t count = room / shape->stride_width + 1;
    if ((left < 0) || (room < 0)) {
        return 1;
    }
    return count < shape->out_width - x ? count : shape->out_width - x;
}
