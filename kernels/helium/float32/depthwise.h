/* SPDX-License-Identifier: 0BSD */
#include "alike.h"
#include "strip.h"

/*
 * Neighbouring pixels of a row of a float32 depthwise convolution. What the assembly knows, in this order; steps, and what of
 * the weights is left out, in bytes. Either all taps of a window are known while generating (`columns`), and the first or the
 * last column that the pixels see may lie outside; or a run of taps is seen.
 */
typedef struct {
    const float *source;              /* what the next block sees first; it moves on */
    int32_t blocks;                   /* of pixels; counted down */
    int32_t pixel_step, output_step;  /* to the next pixel */
    int32_t vectors, step;            /* of 4 channels, the first two of which are `step` bytes apart, the others 16 */
    int32_t column_step, row_step;    /* to the next tap, and from behind the last one to the next row */
    int32_t first, last;              /* weights before the first row that is seen, and behind the last one */
    int32_t rows, taps;               /* that are seen */
    int32_t skipped, walking;         /* weights from row to row; what `step` is at the moment */
    int32_t left, right;              /* whether the first, the last column lies outside */
    const float *limits;
    int32_t column;                   /* of the first pixel */
} aidge_helium_deep_float32;

#if !AIDGE_HELIUM_ASSEMBLY
/* For each vector of channels 4 biases, then 4 weights for each tap. `columns`: taps of a row, 0 for runs of taps. */
static void aidge_helium_deep_pixels_float32(aidge_helium_deep_float32 *strip, float *y, const float *stream, int32_t pixels,
                                             int32_t columns)
{
    const int32_t count = pixels * strip->blocks;
    const int32_t taps = columns > 0 ? columns : strip->taps;
    const int32_t reached = columns > 0 ? (pixels - 1) * strip->pixel_step + columns * strip->column_step - strip->column_step
                                        : taps * strip->column_step;
    int32_t pixel, vector, lane, row, tap;
    for (pixel = 0; pixel < count; pixel++) {
        const float *numbers = stream;
        const float *x = strip->source;
        float *to = y;
        for (vector = 0; vector < strip->vectors; vector++) {
            const float *w = numbers + 4;
            for (lane = 0; lane < 4; lane++) {
                const float *from = x + lane;
                float sum = numbers[lane];
                w = numbers + 4 + lane + strip->first / 4;
                for (row = 0; row < strip->rows; row++) {
                    for (tap = 0; tap < taps; tap++) {
                        const int is_first = ((columns > 0) && (pixel == 0) && (tap == 0)) ? 1 : 0;
                        const int is_last = ((columns > 0) && (pixel == count - 1) && (tap == taps - 1)) ? 1 : 0;
                        if (!(is_first && (strip->left != 0)) && !(is_last && (strip->right != 0))) {
                            sum += from[tap * (strip->column_step / 4)] * *w;
                        }
                        w += 4;
                    }
                    from += (reached + strip->row_step) / 4;
                    w += columns > 0 ? 0 : strip->skipped / 4;
                }
                to[lane] = aidge_helium_limited_float32(sum, strip->limits);
            }
            numbers = w - 3 + strip->last / 4;
            x += vector == 0 ? strip->step / 4 : 4;
            to += vector == 0 ? strip->step / 4 : 4;
        }
        strip->source += strip->pixel_step / 4;
        y += strip->output_step / 4;
    }
}
#endif

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
 * longer ones consist of blocks of `pixels`, with `by_columns` all taps, and the last of them may overlap the one before.
 */
AIDGE_KIT_NOINLINE int32_t aidge_helium_next_deep_float32(aidge_helium_deep_float32 *strip, const float *x, int32_t number,
                                                          int32_t column, int32_t pixels, int32_t by_columns,
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
    strip->left = left < 0;
    strip->right = left + reach > shape->in_width;
    strip->rows = rows;
    strip->blocks = 1;
    if (by_columns && (rows > 0) && (start >= 0) && (left >= -1) && (left + reach <= shape->in_width + 1)) {
        if (!strip->left && !strip->right) {
            strip->blocks = aidge_kit_divide(aidge_helium_alike(start, left, shape), pixels);
        }
        strip->column = start;
        strip->first = first_row * row_weights;
        strip->last = (shape->kernel_height - first_row - rows) * row_weights;
        strip->row_step = row_step - (reach - 1) * strip->column_step;
        strip->source = x + ((top + first_row * shape->dilation_height) * shape->in_width + left) * shape->in_channels;
        return start + strip->blocks * pixels;
    }
    left = column * shape->stride_width - shape->pad_left;
    {
        const int32_t first = aidge_kit_first_tap(left, shape->dilation_width);
        const int32_t taps = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - first;
        const int32_t row = top + first_row * shape->dilation_height;
        const int32_t together = by_columns ? 1 : aidge_helium_alike(column, left, shape);
        strip->column = column;
        if ((rows <= 0) || (taps <= 0)) { /* pads alone */
            strip->rows = 1;
            strip->taps = strip->skipped = strip->last = 0;
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
