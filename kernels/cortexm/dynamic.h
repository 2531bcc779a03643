/* SPDX-License-Identifier: 0BSD */
#include "dynamic_bytes.h"
#include "kit/window2d.h"

/*
 * Layers of dynamic quantization: bytes less a zero point of run time, as int16 in the columns of two pixels; sums scaled to float.
 * `signs` has the highest bit of each byte where data are int8: without their signs, and 128 more, they are uint8.
 *
 * The stream holds for each group of 4 output channels the weights as in dense.h: for each pair of taps, in the order of a run, 2 words (packed) or 4.
 * The table holds for each group 4 factors (packed: of odd channels divided by 256) and 4 biases; the factors in `numbers`, in the same order, are still to be multiplied by
 * the scale of the data. A last group overlaps the one before where channels are no multiple of 4; fewer than 4 have others of zeros beside them.
 */
typedef struct {
    int32_t groups, group_words, channels, pairs;
} aidge_cortexm_dynamic;

/* What gathering two pixels inside the image needs: the zero point in both halves (of int8 and 128 more), the runs of a window, how
 * often a run has 8 bytes, from the last whole 4 of them to the next run, and the bytes of a run. */
typedef struct {
    uint32_t zeros;
    int32_t runs, eights, step, length;
} aidge_cortexm_dynamic_runs;

/* What gathering one pixel needs: the tensor's zero point in both halves, the highest bits of bytes with signs, room for a run. */
typedef struct {
    uint32_t zeros, signs;
    uint8_t *room; /* 4 bytes more than a run */
} aidge_cortexm_dynamic_data;

/* The room for a run behind the column, 4 bytes ahead of which are read. */
AIDGE_CORTEXM_INLINE uint8_t *aidge_cortexm_dynamic_room(uint32_t *behind)
{
    *behind = 0;
    return (uint8_t *)behind;
}

/* Bytes side by side, in every other word of the column: of every 4 the pairs (0, 2) and (1, 3), and so of the last 4 if 3 are left;
 * of 2 that are left their pair, of 1 that is left it and its neighbour but one. It reads 4 bytes before the last ones. */
AIDGE_CORTEXM_INLINE uint32_t *aidge_cortexm_dynamic_run(uint32_t *column, const uint8_t *from, int32_t length, uint32_t zeros,
                                                         uint32_t signs)
{
    int32_t left;
    uint32_t word;
    for (left = length; left >= 4; left -= 4) {
        word = aidge_cortexm_load(from) ^ signs;
        column[0] = aidge_cortexm_centred(word, zeros);
        column[2] = aidge_cortexm_centred(word >> 8, zeros);
        column += 4;
        from += 4;
    }
    if (left == 0) {
        return column;
    }
    word = aidge_cortexm_load(from + left - 4) ^ signs;
    if (left == 2) {
        word = ((word >> 8) & 0xFF0000u) | ((word >> 16) & 0xFFu);
    } else {
        if (left == 3) {
            *column = aidge_cortexm_centred(word, zeros);
            column += 2;
        }
        word >>= 8;
    }
    *column = aidge_cortexm_centred(word, zeros);
    return column + 2;
}

/* A run of `taps` from `at` on in the room, for taps outside the image its zero point; the image has `width` of them in this row. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_dynamic_edge(const aidge_cortexm_dynamic_data *data, const uint8_t *line, int32_t at,
                                                       int32_t taps, int32_t width, int32_t channels)
{
    const int32_t first = at < 0 ? 0 : at;
    const int32_t end = at + taps < width ? at + taps : width;
    uint8_t *const to = data->room + 4;
    (void)memset(to, (int)((data->zeros ^ data->signs) & 0xFFu), (size_t)(taps * channels));
    (void)memcpy(to + (first - at) * channels, line + first * channels, (size_t)((end - first) * channels));
}

/* Rows of the image that the windows of row y of the output see, `width` pixels each; what lies beside the image is `zero`. Pixels
 * of the image are a step apart, of which the channels of `shape` are read. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_dynamic_lines(uint8_t *lines, const uint8_t *input, int32_t y, int32_t width, uint32_t zero,
                                                      int32_t step, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t room = width - shape->pad_left;
    const int32_t inside = room < shape->in_width ? room : shape->in_width;
    int32_t tap, row = y * shape->stride_height - shape->pad_top;
    (void)memset(lines, (int)zero, (size_t)(shape->kernel_height * width * channels));
    for (tap = 0; tap < shape->kernel_height; tap++) {
        if ((row >= 0) && (row < shape->in_height) && (inside > 0)) {
            const uint8_t *const from = input + row * shape->in_width * step;
            uint8_t *const to = lines + shape->pad_left * channels;
            if (step == channels) {
                (void)memcpy(to, from, (size_t)(inside * channels));
            } else {
                int32_t x;
                for (x = 0; x < inside; x++) {
                    (void)memcpy(to + x * channels, from + x * step, (size_t)channels);
                }
            }
        }
        lines += width * channels;
        row += shape->dilation_height;
    }
}

/* Taps of one pixel: a run is a row of taps side by side in the image, or where they are further apart one tap. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_dynamic_gather(uint32_t *column, const uint8_t *input, int32_t y, int32_t x,
                                                       const aidge_cortexm_dynamic_data *data, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t taps = shape->dilation_width == 1 ? shape->kernel_width : 1;
    const int32_t length = taps * channels;
    const int32_t left = x * shape->stride_width - shape->pad_left;
    int32_t tap_y, tap_x, pair;
    for (tap_y = 0; tap_y < shape->kernel_height; tap_y++) {
        const int32_t row = y * shape->stride_height - shape->pad_top + tap_y * shape->dilation_height;
        const int32_t inside = ((row >= 0) && (row < shape->in_height)) ? 1 : 0;
        const int32_t line = row * shape->in_width * channels;
        for (tap_x = 0; tap_x < shape->kernel_width; tap_x += taps) {
            const int32_t at = left + tap_x * shape->dilation_width;
            if ((inside == 0) || (at + taps <= 0) || (at >= shape->in_width)) {
                for (pair = length; pair > 0; pair -= 2) {
                    *column = 0;
                    column += 2;
                }
            } else if ((at < 0) || (at + taps > shape->in_width) || (length < 4)) {
                aidge_cortexm_dynamic_edge(data, input + line, at, taps, shape->in_width, channels);
                column = aidge_cortexm_dynamic_run(column, data->room + 4, length, data->zeros, data->signs);
            } else {
                column = aidge_cortexm_dynamic_run(column, input + line + at * channels, length, data->zeros, data->signs);
            }
        }
    }
}

/* A pixel of the output. */
typedef struct {
    int32_t y, x;
} aidge_cortexm_dynamic_place;

/* The pixel behind it. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_dynamic_next(aidge_cortexm_dynamic_place *place, const aidge_kit_window2d *shape)
{
    place->x++;
    if (place->x == shape->out_width) {
        place->x = 0;
        place->y++;
    }
}

/* The first tap of a window that lies inside the image, or NULL; its rows of taps are runs. */
AIDGE_CORTEXM_INLINE const uint8_t *aidge_cortexm_dynamic_inside(const uint8_t *input, const aidge_cortexm_dynamic_place *place,
                                                                 const aidge_kit_window2d *shape)
{
    const int32_t top = place->y * shape->stride_height - shape->pad_top;
    const int32_t left = place->x * shape->stride_width - shape->pad_left;
    const int32_t bottom = top + (shape->kernel_height - 1) * shape->dilation_height;
    if ((top < 0) || (left < 0) || (bottom >= shape->in_height) || (left + shape->kernel_width > shape->in_width)) {
        return NULL;
    }
    return input + (top * shape->in_width + left) * shape->in_channels;
}

/* Of groups of 4 results, one for each pixel, the first `channels`, of which there are 1 to 3, the next pixel's a step further; where
 * the one behind them goes. */
AIDGE_CORTEXM_INLINE float *aidge_cortexm_dynamic_few(float *output, const float *results, int32_t pixels, int32_t channels, int32_t step)
{
    int32_t pixel;
    for (pixel = 0; pixel < pixels; pixel++) {
        output[0] = results[4 * pixel];
        if (channels > 1) {
            output[1] = results[4 * pixel + 1];
        }
        if (channels > 2) {
            output[2] = results[4 * pixel + 2];
        }
        output += step;
    }
    return output;
}

#if !AIDGE_CORTEXM_FPU
/* The C version of the functions that gather two pixels: runs of `length` bytes. */
AIDGE_CORTEXM_C void aidge_cortexm_dynamic_gather_two(uint32_t *column, const uint8_t *first, const uint8_t *second,
                                                      const aidge_cortexm_dynamic_runs *runs, uint32_t signs)
{
    const int32_t length = runs->length;
    int32_t run;
    for (run = 0; run < runs->runs; run++) {
        const int32_t from = run * (runs->step + length / 4 * 4);
        uint32_t *const next = aidge_cortexm_dynamic_run(column, first + from, length, runs->zeros, signs);
        (void)aidge_cortexm_dynamic_run(column + 1, second + from, length, runs->zeros, signs);
        column = next;
    }
}

/* The C version of the generated functions: all groups from `stream` to `end` for the pixels of a column, 1 or 2, and one more group
 * if it overlaps the one before by so many channels. */
AIDGE_CORTEXM_C void aidge_cortexm_dynamic_groups(const uint32_t *column, const int32_t *stream, const float *table, float *first,
                                         float *second, const int32_t *end, int32_t pairs, int32_t pixels, int32_t packed,
                                         int32_t overlap, float lowest, float highest)
{
    const int32_t words = packed != 0 ? 2 * pairs : 4 * pairs;
    int32_t left = (int32_t)(end - stream) + (overlap != 0 ? words : 0);
    for (; left > 0; left -= words) {
        int32_t channel, pair;
        for (channel = 0; channel < 4; channel++) {
            uint32_t sums[2] = {0, 0};
            int32_t pixel;
            for (pair = 0; pair < pairs; pair++) {
                const int32_t *weights = stream + (packed != 0 ? 2 * pair + channel / 2 : 4 * pair + channel);
                uint32_t w = (uint32_t)*weights;
                if (packed != 0) {
                    const uint32_t even = aidge_cortexm_even_bytes(w);
                    w = channel % 2 == 0 ? even : aidge_cortexm_pair(
                        (aidge_cortexm_low(w) - aidge_cortexm_low(even)) / 256, (aidge_cortexm_high(w) - aidge_cortexm_high(even)) / 256);
                }
                sums[0] = aidge_cortexm_dot(w, column[pixels * pair], sums[0]);
                if (pixels > 1) {
                    sums[1] = aidge_cortexm_dot(w, column[2 * pair + 1], sums[1]);
                }
            }
            for (pixel = 0; pixel < pixels; pixel++) {
                const int32_t sum = (int32_t)(sums[pixel] * (packed != 0 && channel % 2 != 0 ? 256u : 1u));
                const float scaled = aidge_cortexm_kept((float)sum * table[channel]) + table[4 + channel];
                const float raised = scaled < lowest ? lowest : scaled;
                (pixel == 0 ? first : second)[channel] = raised > highest ? highest : raised;
            }
        }
        stream += words;
        table += 8;
        first += stream == end ? 4 - overlap : 4;
        second += stream == end ? 4 - overlap : 4;
    }
}
#endif
