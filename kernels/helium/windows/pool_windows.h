/* SPDX-License-Identifier: 0BSD */
#include "kit/window2d.h"
#include "kit/mean.h"
#include "core/mve.h"

/* A layer: its windows; the order of a sum as in kit/mean_in_order.h, or -1 to divide as the contract `double` does; the
 * number of counts of taps; if `counted_height` is not 0, taps outside the image count above and left of (counted_height,
 * counted_width). */
typedef struct {
    aidge_kit_window2d shape;
    int32_t kinds, order, counted_height, counted_width;
} aidge_helium_pools;

/* A window: its taps inside the image, and how many taps count for a mean. */
typedef struct {
    aidge_kit_values taps;
    int32_t count;
    const int32_t *numbers; /* of the layer */
    const aidge_helium_pools *layer;
} aidge_helium_pool_window;

/* Computes `pixels` neighbouring windows that see as much as this one (pool_runs.py). Returns how many of them are left. */
typedef int32_t aidge_helium_pool_runs(int8_t *y, const int8_t *x, int32_t pixels, const int32_t *numbers,
                                       const aidge_helium_pool_window *window);

/* Computes one window of any size. */
typedef void aidge_helium_pool_others(int8_t *y, const int8_t *first, const aidge_helium_pool_window *window);

/* Each window of a pool, int8, channels last: by the first function that computes it; `runs` and `left` may be NULL. */
AIDGE_KIT_INLINE void aidge_helium_pool_windows(aidge_helium_pool_runs *runs, aidge_helium_pool_runs *left,
                                                aidge_helium_pool_others *others, const int8_t *x, int8_t *y,
                                                const int32_t *numbers, const int32_t *of_runs, const aidge_helium_pools *layer)
{
    const aidge_kit_window2d *const shape = &layer->shape;
    const int32_t channels = shape->in_channels;
    const int32_t in_row = shape->in_width * channels;
    aidge_helium_pool_window window;
    int32_t batch, out_y, out_x;
    window.numbers = numbers;
    window.layer = layer;
    window.taps.row_step = shape->dilation_height * in_row;
    window.taps.column_step = shape->dilation_width * channels;
    for (batch = 0; batch < shape->batches; batch++) {
        for (out_y = 0; out_y < shape->out_height; out_y++) {
            const int32_t top = out_y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            window.taps.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height) - first_y;
            out_x = 0;
            while (out_x < shape->out_width) {
                const int32_t begin = out_x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(begin, shape->dilation_width);
                const int32_t columns =
                    aidge_kit_end_tap(begin, shape->dilation_width, shape->in_width, shape->kernel_width) - first_x;
                const int32_t alike = columns == shape->kernel_width ? aidge_kit_alike(out_x, begin, shape) : 1;
                const int8_t *const source = x + (top + first_y * shape->dilation_height) * in_row
                                             + (begin + first_x * shape->dilation_width) * channels;
                int32_t done = 0;
                window.taps.columns = columns;
                window.count = aidge_kit_count_of_taps(window.taps.rows * columns, top, begin, layer->counted_height,
                                                       layer->counted_width, shape);
                if (runs != NULL) {
                    done = alike - runs(y, source, alike, of_runs, &window);
                }
                if ((done == 0) && (left != NULL)) {
                    const int32_t pixels = runs != NULL ? 1 : alike;
                    done = pixels - left(y, source, pixels, of_runs, &window);
                }
                if (done == 0) {
                    others(y, source, &window);
                    done = 1;
                }
                out_x += done;
                y += done * channels;
            }
        }
        x += shape->in_height * in_row;
    }
}
