/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"
#include "kit/window2d.h"

typedef struct {
    aidge_kit_window2d window;
    int32_t stream_words;
} aidge_cortexm_conv2d_float32;

/* Neighbouring values of 4 pixels that meet neighbouring weights. */
typedef struct {
    const float *source[4];
    int32_t length;
} aidge_cortexm_run_float32;

/* 4 pixels: the places of their results, the column and the end of its whole turns, runs. Assembly reads these fields in this
 * order. */
typedef struct {
    float *output[4];
    float *column, *end_of_turns;
    aidge_cortexm_run_float32 runs[1];
} aidge_cortexm_table_float32;

/* The next pixel: its result, and the place of its window in the image. */
typedef struct {
    float *output;
    int32_t top, left, columns; /* columns: that are left in the row of outputs */
} aidge_cortexm_walk_float32;

AIDGE_CORTEXM_INLINE float *aidge_cortexm_zeros_float32(aidge_cortexm_table_float32 *table,
                                                        const aidge_kit_window2d *shape)
{
    return (float *)(void *)(table->runs + shape->kernel_height * shape->kernel_width);
}

/* The table at the beginning of the scratch; zeros for taps outside of the image, and the column, follow it. */
static aidge_cortexm_table_float32 *aidge_cortexm_table_of_float32(void *scratch, const aidge_kit_window2d *shape)
{
    aidge_cortexm_table_float32 *const table = (aidge_cortexm_table_float32 *)scratch;
    float *zeros = aidge_cortexm_zeros_float32(table, shape);
    int32_t i;
    for (i = shape->kernel_width * shape->in_channels; i > 0; i--) {
        *zeros++ = 0.0f;
    }
    table->column = zeros;
    table->end_of_turns = zeros + 4 * (shape->kernel_height * shape->kernel_width * shape->in_channels & ~3);
    return table;
}

/* The runs of 4 neighbouring pixels with windows inside the image; `corner`: the first value of the first window. */
static int32_t aidge_cortexm_inner_runs_float32(aidge_cortexm_table_float32 *table, const float *corner,
                                                const aidge_kit_window2d *shape)
{
    const int32_t together = shape->dilation_width == 1 ? shape->kernel_width : 1;
    const int32_t length = together * shape->in_channels;
    const int32_t step = shape->stride_width * shape->in_channels;
    aidge_cortexm_run_float32 *run = table->runs;
    int32_t row, tap;
    for (row = shape->kernel_height; row > 0; row--) {
        const float *source = corner;
        for (tap = shape->kernel_width; tap > 0; tap -= together) {
            run->source[0] = source;
            run->source[1] = source + step;
            run->source[2] = source + 2 * step;
            run->source[3] = source + 3 * step;
            run->length = length;
            source += shape->dilation_width * shape->in_channels;
            run++;
        }
        corner += shape->dilation_height * shape->in_width * shape->in_channels;
    }
    return (int32_t)(run - table->runs);
}

/* To the next pixel. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_step_float32(aidge_cortexm_walk_float32 *walk, const aidge_kit_window2d *shape)
{
    walk->output += shape->out_channels;
    walk->left += shape->stride_width;
    walk->columns -= 1;
    if (walk->columns == 0) {
        walk->columns = shape->out_width;
        walk->left = -shape->pad_left;
        walk->top += shape->stride_height;
    }
}

/* The same for any 4 pixels: a tap outside of the image reads zeros, and the last pixel replaces pixels that do not exist. */
static int32_t aidge_cortexm_any_runs_float32(aidge_cortexm_walk_float32 *walk, aidge_cortexm_table_float32 *table,
                                              const float *input, int32_t pixels, const aidge_kit_window2d *shape)
{
    const float *const zeros = aidge_cortexm_zeros_float32(table, shape);
    aidge_cortexm_run_float32 *run = table->runs;
    int32_t together = shape->dilation_width == 1 ? shape->kernel_width : 1;
    int32_t top[4];
    int32_t left[4];
    int32_t row, tap, pixel;
    for (pixel = 0; pixel < 4; pixel++) {
        top[pixel] = walk->top;
        left[pixel] = walk->left;
        table->output[pixel] = walk->output;
        if ((walk->left < 0) || (walk->left + shape->kernel_width > shape->in_width)) {
            together = 1;
        }
        if (pixel + 1 < pixels) {
            aidge_cortexm_step_float32(walk, shape);
        }
    }
    for (row = 0; row < shape->kernel_height; row++) {
        for (tap = 0; tap < shape->kernel_width; tap += together) {
            for (pixel = 0; pixel < 4; pixel++) {
                const int32_t y = top[pixel] + row * shape->dilation_height;
                const int32_t x = left[pixel] + tap * shape->dilation_width;
                const int inside = ((y >= 0) && (y < shape->in_height) && (x >= 0) && (x < shape->in_width)) ? 1 : 0;
                run->source[pixel] = inside ? input + (y * shape->in_width + x) * shape->in_channels : zeros;
            }
            run->length = together * shape->in_channels;
            run++;
        }
    }
    return (int32_t)(run - table->runs);
}

/* Fills the table for the next 4 of the pixels that are left. Returns the runs. Not inlined: what it has on the stack is gone
 * when the assembly, which saves all registers, begins. */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_next_runs_float32(aidge_cortexm_walk_float32 *walk,
                                                               aidge_cortexm_table_float32 *table, const float *input,
                                                               int32_t pixels, const aidge_kit_window2d *shape)
{
    const int32_t bottom = walk->top + (shape->kernel_height - 1) * shape->dilation_height;
    const int32_t right = walk->left + 3 * shape->stride_width + (shape->kernel_width - 1) * shape->dilation_width;
    float *output = walk->output;
    const float *corner;
    if ((walk->columns < 4) || (walk->top < 0) || (walk->left < 0)
        || (bottom >= shape->in_height) || (right >= shape->in_width)) {
        return aidge_cortexm_any_runs_float32(walk, table, input, pixels, shape);
    }
    corner = input + (walk->top * shape->in_width + walk->left) * shape->in_channels;
    table->output[0] = output;
    table->output[1] = output + shape->out_channels;
    table->output[2] = output + 2 * shape->out_channels;
    table->output[3] = output + 3 * shape->out_channels;
    walk->output = output + 3 * shape->out_channels;
    walk->left += 3 * shape->stride_width;
    walk->columns -= 3;
    aidge_cortexm_step_float32(walk, shape);
    return aidge_cortexm_inner_runs_float32(table, corner, shape);
}
