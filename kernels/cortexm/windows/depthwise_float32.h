/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/window2d.h"

/* Neighbouring pixels: what the assembly reads, in this order. `groups`: the end of the whole groups in the stream. */
typedef struct {
    int32_t advance;
    const float *groups;
    const float *source[1];
} aidge_cortexm_sources_float32;

/* The table of so many taps at the beginning of the scratch; behind it zeros for taps outside of the image. */
static aidge_cortexm_sources_float32 *aidge_cortexm_sources_of_float32(void *scratch, const float *stream, int32_t taps,
                                                                       const aidge_kit_window2d *shape)
{
    aidge_cortexm_sources_float32 *const table = (aidge_cortexm_sources_float32 *)scratch;
    float *const zeros = (float *)(void *)(table->source + taps);
    int32_t i;
    for (i = 0; i < shape->in_channels; i++) {
        zeros[i] = 0.0f;
    }
    table->advance = 4 * (shape->stride_width - 1) * shape->in_channels;
    table->groups = stream + (shape->in_channels & ~7) * (1 + taps);
    for (i = 0; i < taps; i++) {
        table->source[i] = zeros;
    }
    return table;
}

/*
 * Lists the taps of the window of column x at row `top` of the image; taps outside of it read zeros. Returns how many windows from
 * this one on see no pad, so that one call computes them; 1 if it sees pads or its taps are not held in registers. Not inlined: what
 * it has on the stack is gone when the assembly begins.
 */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_next_windows_float32(aidge_cortexm_sources_float32 *table, const float *input,
                                                                  int32_t taps, int32_t top, int32_t x,
                                                                  const aidge_kit_window2d *shape)
{
    const float *const zeros = (const float *)(const void *)(table->source + taps);
    const float **source = table->source;
    const int32_t step = shape->dilation_width * shape->in_channels;
    const int32_t left = x * shape->stride_width - shape->pad_left;
    const int32_t bottom = top + (shape->kernel_height - 1) * shape->dilation_height;
    const int32_t count = (taps > 9) || (top < 0) || (bottom >= shape->in_height) ? 1 : aidge_kit_alike(x, left, shape);
    int32_t row, tap;
    for (row = shape->kernel_height; row > 0; row--) {
        const float *place = input + (top * shape->in_width + left) * shape->in_channels;
        int32_t column = left;
        for (tap = shape->kernel_width; tap > 0; tap--) {
            const int inside = (top >= 0) && (top < shape->in_height) && (column >= 0) && (column < shape->in_width) ? 1 : 0;
            *source++ = inside != 0 ? place : zeros;
            place += step;
            column += shape->dilation_width;
        }
        top += shape->dilation_height;
    }
    return count;
}
