/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "float32.h"

typedef struct {
    int32_t batches, in_height, in_width, channels, out_height, out_width;
    int32_t kernel_height, kernel_width, stride_height, stride_width, dilation_height, dilation_width, pad_top, pad_left;
    int32_t taps;                    /* in the table: maybe one more than the window has */
    int32_t longest;                 /* pixels that are computed in one call: 1, or a row of outputs */
    int32_t advance;                 /* bytes from the end of one pixel to the next that is computed */
    int32_t group, rest;             /* channels that are computed together, and in the last group */
    int32_t multiplier;              /* outputs of a channel: one call computes one of them of all channels */
} aidge_cortexm_depthwise_float32;

/* Neighbouring pixels: what the assembly reads, in this order. `groups`: the end of the whole groups in the stream. */
typedef struct {
    int32_t advance;
    const float *groups;
    const float *source[1];
} aidge_cortexm_sources_float32;

/* The table at the beginning of the scratch; behind it zeros for taps outside of the image. */
static aidge_cortexm_sources_float32 *aidge_cortexm_sources_of_float32(void *scratch, const float *stream,
                                                                       const aidge_cortexm_depthwise_float32 *shape)
{
    aidge_cortexm_sources_float32 *const table = (aidge_cortexm_sources_float32 *)scratch;
    const float *const *const end = table->source + shape->taps;
    float *zeros = (float *)(void *)(table->source + shape->taps);
    int32_t i;
    for (i = 0; i < shape->channels; i++) {
        zeros[i] = 0.0f;
    }
    table->advance = shape->advance;
    table->groups = stream + (shape->channels - shape->rest) * (1 + shape->taps);
    for (i = 0; i < shape->taps; i++) {
        table->source[i] = (const float *)(const void *)end;
    }
    return table;
}

/* The taps of the window at (top, left) of the image; those outside of it read zeros. */
static void aidge_cortexm_seen_float32(aidge_cortexm_sources_float32 *table, const float *input, int32_t top, int32_t left,
                                       const aidge_cortexm_depthwise_float32 *shape)
{
    const float *const zeros = (const float *)(const void *)(table->source + shape->taps);
    const float **source = table->source;
    const int32_t step = shape->dilation_width * shape->channels;
    int32_t row, tap;
    for (row = shape->kernel_height; row > 0; row--) {
        const float *place = input + (top * shape->in_width + left) * shape->channels;
        int32_t x = left;
        for (tap = shape->kernel_width; tap > 0; tap--) {
            *source++ = (top >= 0) && (top < shape->in_height) && (x >= 0) && (x < shape->in_width) ? place : zeros;
            place += step;
            x += shape->dilation_width;
        }
        top += shape->dilation_height;
    }
}

/* How many outputs from column x on see no pad; 1 where the first does, as that one is computed alone. */
static int32_t aidge_cortexm_together_float32(int32_t top, int32_t x, const aidge_cortexm_depthwise_float32 *shape)
{
    const int32_t left = x * shape->stride_width - shape->pad_left;
    const int32_t room = shape->in_width - 1 - (shape->kernel_width - 1) * shape->dilation_width - left;
    const int32_t bottom = top + (shape->kernel_height - 1) * shape->dilation_height;
    int32_t count;
    if ((shape->longest == 1) || (left < 0) || (room < 0) || (top < 0) || (bottom >= shape->in_height)) {
        return 1;
    }
    count = room / shape->stride_width + 1;
    return count < shape->out_width - x ? count : shape->out_width - x;
}

/* Neighbouring pixels, all channels: the C version of the assembly. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_depthwise_pixels_float32(float *output, const aidge_cortexm_sources_float32 *table,
                                                                 const float *stream, int32_t pixels, const float *limits,
                                                                 const aidge_cortexm_depthwise_float32 *shape)
{
    int32_t pixel, channel, tap, i;
    for (pixel = 0; pixel < pixels; pixel++) {
        const int32_t moved = pixel * (shape->channels + table->advance / 4);
        const float *weights = stream;
        for (channel = 0; channel < shape->channels; channel += shape->group) {
            const int32_t left = shape->channels - channel;
            const int32_t count = left < shape->group ? left : shape->group;
            for (i = 0; i < count; i++) {
                float sum = weights[i];
                for (tap = 0; tap < shape->taps; tap++) {
                    sum += table->source[tap][moved + channel + i] * weights[(tap + 1) * count + i];
                }
                *output = aidge_cortexm_limit(sum, limits);
                output += shape->multiplier;
            }
            weights += count * (shape->taps + 1);
        }
    }
}
