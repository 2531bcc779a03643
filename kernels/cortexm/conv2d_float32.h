/* SPDX-License-Identifier: 0BSD */
#include "float32.h"

typedef struct {
    int32_t batches, in_height, in_width, channels, out_height, out_width, out_channels;
    int32_t kernel_height, kernel_width, stride_height, stride_width, dilation_height, dilation_width, pad_top, pad_left;
    int32_t stream_words;
} aidge_cortexm_conv2d_float32;

/* Neighbouring values of 4 pixels that meet neighbouring weights. */
typedef struct {
    const float *source[4];
    int32_t length;
} aidge_cortexm_run_float32;

/* 4 pixels: where their results go, and their runs. What the assembly reads, in this order. */
typedef struct {
    float *output[4];
    aidge_cortexm_run_float32 runs[1];
} aidge_cortexm_table_float32;

static void aidge_cortexm_pixels_float32(const aidge_cortexm_table_float32 *table, const int32_t *stream, int32_t runs,
                                         const int32_t *end, const float *limits);

/* The runs of one row of the window at 4 pixels; a tap outside of the image reads zeros. Returns the end of the runs. */
static aidge_cortexm_run_float32 *aidge_cortexm_row_float32(aidge_cortexm_run_float32 *run, const float *const *rows,
                                                            const int32_t *left, const float *zeros, const aidge_cortexm_conv2d_float32 *shape)
{
    const int32_t channels = shape->channels;
    int32_t together = shape->dilation_width == 1 ? shape->kernel_width : 1;
    int32_t tap, pixel;
    for (pixel = 0; pixel < 4; pixel++) {
        if ((rows[pixel] == zeros) || (left[pixel] < 0) || (left[pixel] + shape->kernel_width > shape->in_width)) {
            together = 1;
        }
    }
    for (tap = 0; tap < shape->kernel_width; tap += together) {
        for (pixel = 0; pixel < 4; pixel++) {
            const int32_t x = left[pixel] + tap * shape->dilation_width;
            const int inside = (rows[pixel] != zeros) && (x >= 0) && (x < shape->in_width);
            run->source[pixel] = inside ? rows[pixel] + x * channels : zeros;
        }
        run->length = together * channels;
        run++;
    }
    return run;
}

/*
 * Convolution of float32, channels last: 4 pixels x 4 channels at a time. Scratch: the table of 4 pixels, then zeros for
 * taps outside of the image.
 */
static void aidge_cortexm_conv2d_f32(const float *input, float *output, const int32_t *stream, const float *limits, void *scratch,
                                     const aidge_cortexm_conv2d_float32 *shape)
{
    aidge_cortexm_table_float32 *const table = (aidge_cortexm_table_float32 *)scratch;
    float *const zeros = (float *)(void *)(table->runs + shape->kernel_height * shape->kernel_width);
    const int32_t row_floats = shape->in_width * shape->channels;
    const int32_t pixels = shape->out_height * shape->out_width;
    int32_t batch, first, i;
    for (i = 0; i < shape->channels; i++) {
        zeros[i] = 0.0f;
    }
    for (batch = 0; batch < shape->batches; batch++) {
        for (first = 0; first < pixels; first += 4) {
            aidge_cortexm_run_float32 *run = table->runs;
            int32_t top[4];
            int32_t left[4];
            const float *rows[4];
            int32_t tap, pixel;
            for (pixel = 0; pixel < 4; pixel++) { /* the last pixel stands in for those behind it */
                const int32_t at = first + pixel < pixels ? first + pixel : pixels - 1;
                const int32_t y = at / shape->out_width;
                top[pixel] = y * shape->stride_height - shape->pad_top;
                left[pixel] = (at - y * shape->out_width) * shape->stride_width - shape->pad_left;
                table->output[pixel] = output + at * shape->out_channels;
            }
            for (tap = 0; tap < shape->kernel_height; tap++) {
                for (pixel = 0; pixel < 4; pixel++) {
                    const int32_t y = top[pixel] + tap * shape->dilation_height;
                    rows[pixel] = (y >= 0) && (y < shape->in_height) ? input + y * row_floats : zeros;
                }
                run = aidge_cortexm_row_float32(run, rows, left, zeros, shape);
            }
            aidge_cortexm_pixels_float32(table, stream, (int32_t)(run - table->runs), stream + shape->stream_words, limits);
        }
        input += shape->in_height * row_floats;
        output += pixels * shape->out_channels;
    }
}

#if !AIDGE_CORTEXM_ASSEMBLY
/* All groups of channels of 4 pixels: the C version of the assembly of this name. */
static void aidge_cortexm_pixels_float32(const aidge_cortexm_table_float32 *table, const int32_t *stream, int32_t runs,
                                         const int32_t *end, const float *limits)
{
    while (stream != end) {
        const int32_t channel = *stream++ / 4;
        float sums[4][4];
        int32_t run, i, pixel, c;
        for (pixel = 0; pixel < 4; pixel++) {
            for (c = 0; c < 4; c++) {
                sums[pixel][c] = aidge_cortexm_real(stream[c]);
            }
        }
        stream += 4;
        for (run = 0; run < runs; run++) {
            for (i = 0; i < table->runs[run].length; i++) {
                for (pixel = 0; pixel < 4; pixel++) {
                    for (c = 0; c < 4; c++) {
                        sums[pixel][c] += table->runs[run].source[pixel][i] * aidge_cortexm_real(stream[c]);
                    }
                }
                stream += 4;
            }
        }
        for (pixel = 0; pixel < 4; pixel++) {
            for (c = 0; c < 4; c++) {
                table->output[pixel][channel + c] = aidge_cortexm_limit(sums[pixel][c], limits);
            }
        }
    }
}
#endif
