/* SPDX-License-Identifier: 0BSD */
#include "dynamic_bytes.h"

/*
 * Layers of dynamic quantization: bytes less a zero point of run time, as int16 in the columns of two pixels; sums scaled to
 * float. `signs` has the highest bit of each byte if data are int8: without their signs, and 128 more, they are uint8.
 *
 * The stream holds for each group of 4 output channels the weights as in dense.h: for each pair of taps, in the order of a
 * run, 2 words (packed) or 4. The table holds for each group 4 factors (packed: of odd channels divided by 256) and 4 biases;
 * the factors in `numbers`, in the same order, are still to be multiplied by the scale of the data. If channels are no
 * multiple of 4, the last group overlaps the group before; if there are fewer than 4, channels of zeros fill the group.
 */
typedef struct {
    int32_t groups, group_words, channels, pairs;
} aidge_cortexm_dynamic;

/* The constants for gathering two pixels: the zero point in both halves (of int8 and 128 more), the runs of a window, how
 * often a run has 8 bytes, for each pixel the step from the last whole 4 of these bytes to its next run, and the bytes of a
 * run. Assembly reads them in this order. */
typedef struct {
    uint32_t zeros;
    int32_t runs, eights, first_step, second_step, length;
} aidge_cortexm_dynamic_runs;

/* A pixel of the output, and its image of the input. */
typedef struct {
    const uint8_t *image;
    int32_t y, x;
} aidge_cortexm_dynamic_place;

/* Goes to the next pixel, in the next image if need be; pixels of the input are `step` bytes apart. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_dynamic_next(aidge_cortexm_dynamic_place *place, int32_t step,
                                                     const aidge_kit_window2d *shape)
{
    place->x++;
    if (place->x == shape->out_width) {
        place->x = 0;
        place->y++;
        if (place->y == shape->out_height) {
            place->y = 0;
            place->image += shape->in_height * shape->in_width * step;
        }
    }
}

/* Bytes as words of the column, `apart` words from each other: of every 4 the pairs (0, 2) and (1, 3); of 3 that are left the
 * second one, then (0, 2), of 2 their pair, of 1 it alone. Single ones are in the upper half; the lower halves meet weights of 0. */
AIDGE_CORTEXM_INLINE uint32_t *aidge_cortexm_dynamic_run(uint32_t *column, const uint8_t *from, int32_t length, uint32_t zeros,
                                                         uint32_t signs, int32_t apart)
{
    int32_t left;
    for (left = length; left >= 4; left -= 4) {
        const uint32_t word = aidge_cortexm_load(from) ^ signs;
        column[0] = aidge_cortexm_centred(word, zeros);
        column[apart] = aidge_cortexm_centred(word >> 8, zeros);
        column += 2 * apart;
        from += 4;
    }
    if (left == 3) {
        *column = aidge_cortexm_centred(((uint32_t)from[1] << 16) ^ signs, zeros);
        column += apart;
    }
    if (left > 0) {
        const uint32_t word = left == 1 ? (uint32_t)from[0] << 16 : from[0] | ((uint32_t)from[left - 1] << 16);
        *column = aidge_cortexm_centred(word ^ signs, zeros);
        column += apart;
    }
    return column;
}

/* Copies the taps of a window at `top` and `left`; taps outside of the image are `fill`. Pixels of the image are `step` bytes
 * apart. */
AIDGE_CORTEXM_NOINLINE const uint8_t *aidge_cortexm_dynamic_copy(uint8_t *copy, const uint8_t *image, int32_t top, int32_t left,
                                                                 int32_t step, uint8_t fill, const aidge_kit_window2d *shape)
{
    const int32_t channels = shape->in_channels;
    const int32_t first = aidge_kit_first_tap(left, shape->dilation_width);
    const int32_t end = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
    const int32_t many = (shape->dilation_width == 1) && (step == channels) ? end - first : 1;
    uint8_t *to = copy;
    int32_t x, y;
    (void)memset(copy, fill, (size_t)(shape->kernel_height * shape->kernel_width * channels));
    for (y = 0; y < shape->kernel_height; y++) {
        if ((top >= 0) && (top < shape->in_height)) {
            const uint8_t *const from = image + (top * shape->in_width + left) * step;
            for (x = first; x < end; x += many) {
                (void)memcpy(to + x * channels, from + x * shape->dilation_width * step, (size_t)(many * channels));
            }
        }
        to += shape->kernel_width * channels;
        top += shape->dilation_height;
    }
    return copy;
}

/* Returns the taps of a window: in the image if all are inside, and each row of them is contiguous there, or else in `copy`.
 * `next_row`: bytes from a row of taps to the next one. */
AIDGE_CORTEXM_INLINE const uint8_t *aidge_cortexm_dynamic_window(const aidge_cortexm_dynamic_place *place, uint8_t *copy,
                                                                 int32_t step, uint8_t fill, int32_t *next_row,
                                                                 const aidge_kit_window2d *shape)
{
    const int32_t top = place->y * shape->stride_height - shape->pad_top;
    const int32_t left = place->x * shape->stride_width - shape->pad_left;
    const int32_t bottom = top + (shape->kernel_height - 1) * shape->dilation_height;
    if ((top >= 0) && (left >= 0) && (bottom < shape->in_height) && (left + shape->kernel_width <= shape->in_width)
        && (shape->dilation_width == 1) && (step == shape->in_channels)) {
        *next_row = shape->dilation_height * shape->in_width * step;
        return place->image + (top * shape->in_width + left) * step;
    }
    *next_row = shape->kernel_width * shape->in_channels;
    return aidge_cortexm_dynamic_copy(copy, place->image, top, left, step, fill, shape);
}

/* Stores the first `channels`, 1 to 3, of 4 results for each pixel, the next pixel's `step` further; returns the place after
 * the last pixel. */
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
