/* SPDX-License-Identifier: 0BSD */
#include "strip.h"
#include "kit/window2d.h"

/*
 * Neighbouring pixels of a row of a float32 depthwise convolution; assembly reads the fields in this order. Steps, and weights
 * that are left out, are in bytes. Either all taps of a window are known while generating (`columns`), and the first or the
 * last columns that the pixels see may be outside; or a run of taps is seen.
 */
typedef struct {
    const float *source;              /* the first value inside that the next block sees; it moves on */
    int32_t blocks;                   /* of pixels; counted down */
    int32_t pixel_step, output_step;  /* to the next pixel */
    int32_t vectors, step;            /* of 4 channels, the first two of which are `step` bytes apart, the others 16 */
    int32_t column_step, row_step;    /* to the next tap, and to the next row: from the last column or the first one outside */
    int32_t first, last;              /* weights before the first row that is seen, and behind the last one */
    int32_t rows, taps;               /* that are seen */
    int32_t skipped, walking;         /* weights from row to row; what `step` is at the moment */
    uint32_t ends;                    /* flags: whether the first column, the first two, the last, the last two are outside */
    const float *limits;
    const float *stream;              /* while the assembly runs: the weights of all channels */
    int32_t column;                   /* of the first pixel */
} aidge_helium_deep_float32;

AIDGE_KIT_NOINLINE void aidge_helium_deep_strips_float32(aidge_helium_deep_float32 *strip, const float *limits,
                                                         const aidge_kit_window2d *shape)
{
    strip->output_step = 4 * shape->in_channels;
    strip->pixel_step = shape->stride_width * strip->output_step;
    strip->vectors = (shape->in_channels + 3) / 4;
    strip->step = (shape->in_channels & 3) == 0 ? 16 : 4 * (shape->in_channels & 3);
    strip->column_step = shape->dilation_width * strip->output_step;
    strip->limits = limits;
}

/*
 * The next strip of output row `number`, from `column` on; returns the column behind it. Strips of one pixel take runs of taps;
 * longer ones consist of blocks of `pixels`, which may see `outside` columns of pads on each side (0: they take runs, too); the last
 * of them may overlap the one before.
 */
AIDGE_KIT_NOINLINE int32_t aidge_helium_next_deep_float32(aidge_helium_deep_float32 *strip, const float *x, int32_t number,
                                                          int32_t column, int32_t pixels, int32_t outside,
                                                          const aidge_kit_window2d *shape)
{
    const int32_t top = number * shape->stride_height - shape->pad_top;
    const int32_t first_row = aidge_kit_first_tap(top, shape->dilation_height);
    const int32_t rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_row;
    const int32_t row_weights = 16 * shape->kernel_width;
    const int32_t row_step = shape->dilation_height * shape->in_width * strip->output_step;
    const int32_t start = shape->out_width - column < pixels ? shape->out_width - pixels : column;
    const int32_t reach = (pixels - 1) * shape->stride_width + shape->kernel_width;
    int32_t left = start * shape->stride_width - shape->pad_left;
    const int32_t before = left < 0 ? -left : 0;
    const int32_t behind = left + reach > shape->in_width ? left + reach - shape->in_width : 0;
    strip->rows = rows;
    strip->blocks = 1;
    if ((outside > 0) && (rows > 0) && (start >= 0) && (before <= outside) && (behind <= outside)) {
        const uint32_t two = ((before > 1) ? 0x40000000u : 0u) | ((behind > 1) ? 0x10000000u : 0u);
        strip->ends = two | ((before > 0) ? 0x80000000u : 0u) | ((behind > 0) ? 0x20000000u : 0u);
        if (strip->ends == 0u) {
            strip->blocks = aidge_kit_divide(aidge_kit_alike(start, left, shape), pixels);
        }
        strip->column = start;
        strip->first = first_row * row_weights;
        strip->last = (shape->kernel_height - first_row - rows) * row_weights;
        strip->row_step = row_step - (reach - before - (behind > 0 ? behind : 1)) * strip->column_step;
        left += before;
        strip->source = x + ((top + first_row * shape->dilation_height) * shape->in_width + left) * shape->in_channels;
        return start + strip->blocks * pixels;
    }
    left = column * shape->stride_width - shape->pad_left;
    strip->ends = 0u;
    {
        const int32_t first = aidge_kit_first_tap(left, shape->dilation_width);
        const int32_t taps = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first;
        const int32_t row = top + first_row * shape->dilation_height;
        const int32_t together = outside > 0 ? 1 : aidge_kit_alike(column, left, shape);
        strip->column = column;
        if ((rows <= 0) || (taps <= 0)) { /* pads alone */
            strip->rows = 1;
            strip->taps = strip->skipped = 0;
            AIDGE_KIT_STORED_FIRST; /* gcc loads four of them as one vector, and takes that for half as long as it is */
            strip->last = 0;
            strip->first = shape->kernel_height * row_weights;
            strip->source = x;
        } else {
            strip->taps = taps;
            strip->first = first_row * row_weights + 16 * first;
            strip->skipped = row_weights - 16 * taps;
            strip->last = (shape->kernel_height - first_row - rows) * row_weights - 16 * first;
            strip->source = x + (row * shape->in_width + left + first * shape->dilation_width) * shape->in_channels;
        }
        strip->row_step = row_step - strip->taps * strip->column_step;
        strip->blocks = together < pixels ? 1 : aidge_kit_divide(together, pixels);
        return column + (together < pixels ? 1 : strip->blocks * pixels);
    }
}
