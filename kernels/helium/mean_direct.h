/* SPDX-License-Identifier: 0BSD */
#include "kit/mean_columns.h"
#include "mean_line.h"

/*
 * Means of int8 windows, some of which the integer sums decide, others not: a row of outputs has segments of neighbouring pixels
 * of one kind {pixels, kind}. Of each kind of rows and one of columns the numbers that aidge_helium_direct_kind names.
 */
typedef struct {
    aidge_kit_window2d shape;
    int32_t kinds;    /* of columns: what their windows see and count */
    int32_t segments;
    int32_t zero_point, scale; /* of the input; the scale as the bits of a float */
    int32_t lowest, highest;
} aidge_helium_direct_means;

/* The level is (sum * factor + start >> 16) shifted and rounded by the layer's drop, or that of the values in float32; behind these
 * numbers stand those of kit/mean.h for the count. */
enum {
    AIDGE_HELIUM_DIRECT_RUN,    /* which function of the layer computes it: 0 the one of sums */
    AIDGE_HELIUM_DIRECT_FIRST,  /* factor; or the reciprocal of the first divisor, */
    AIDGE_HELIUM_DIRECT_START,  /* start; or less the divisor */
    AIDGE_HELIUM_DIRECT_SECOND, /* the same of the second divisor */
    AIDGE_HELIUM_DIRECT_OTHER,
    AIDGE_HELIUM_DIRECT_ZERO,   /* zero point of the output, or a large number that holds it */
    AIDGE_HELIUM_DIRECT_COUNT,
    AIDGE_HELIUM_DIRECT_EXACT,
    AIDGE_HELIUM_DIRECT_KIND = (int)AIDGE_HELIUM_DIRECT_EXACT + (int)AIDGE_KIT_MEAN_NUMBERS
};

#if AIDGE_HELIUM_ASSEMBLY
/* All 256 values of the input in float32, by their bits. */
AIDGE_KIT_NOINLINE void aidge_helium_values_of_bytes(float *table, const aidge_helium_direct_means *layer)
{
    int32_t value;
    float scale;
    (void)memcpy(&scale, &layer->scale, sizeof scale);
    for (value = 0; value < 256; value += 4) {
        int32x4_t four = vreinterpretq_s32_u32(vidupq_n_u32((uint32_t)value, 1));
        four = vsubq_n_s32(four, value < 128 ? layer->zero_point : layer->zero_point + 256);
        vstrwq_f32(table + value, vmulq_n_f32(vcvtq_f32_s32(four), scale));
    }
}

/* line = what the columns of these rows sum up to. */
AIDGE_KIT_INLINE void aidge_helium_sums_of_rows(int16_t *line, const int8_t *first, int32_t step, int32_t rows, int32_t count)
{
    if (rows == 1) {
        aidge_helium_sum_1(line, first, count);
    } else if (rows == 2) {
        aidge_helium_sum_2(line, first, step, count);
    } else if (rows == 3) {
        aidge_helium_sum_3(line, first, step, count);
    } else {
        aidge_helium_sum_rows(line, first, step, rows, count);
    }
}

/* What the functions of runs are given: `pixels` times `channels` outputs. Steps in bytes, of pixels from behind the last vector. */
typedef struct {
    int32_t pixels, channels;
    int32_t pixel_step, output_step, column_step, row_step;
    const float *table;
    int32_t numbers[5]; /* of the kind, from AIDGE_HELIUM_DIRECT_FIRST */
    int32_t lowest, highest;
} aidge_helium_mean_run;

/* That of a layer whose elements have so many bytes, `together` of which are a vector; neighbouring pixels are one. */
AIDGE_KIT_INLINE void aidge_helium_run_of(aidge_helium_mean_run *run, const int32_t *own, int32_t pixels,
                                          const aidge_helium_line *line, int32_t together, int32_t bytes)
{
    const int32_t is_one = line->stride == line->channels ? 1 : 0;
    const int32_t channels = is_one != 0 ? pixels * line->channels : line->channels;
    const int32_t passed = (channels + together - 1) / together * together;
    run->pixels = is_one != 0 ? 1 : pixels;
    run->channels = channels;
    run->pixel_step = bytes * (line->stride - passed);
    run->output_step = channels - passed;
    run->column_step = bytes * line->column_step;
    (void)memcpy(run->numbers, own + AIDGE_HELIUM_DIRECT_FIRST, sizeof run->numbers);
}
#else
/* The stored mean of the window that begins at `first`. */
AIDGE_KIT_INLINE int8_t aidge_helium_direct_mean(const int8_t *first, const aidge_kit_values *window, const int32_t *own,
                                                 int32_t drop, const aidge_helium_direct_means *layer)
{
    int32_t level = 0, row, column;
    if (own[AIDGE_HELIUM_DIRECT_RUN] != 0) {
        return aidge_kit_stored_level(
            aidge_kit_mean_columns(first, window, own[AIDGE_HELIUM_DIRECT_COUNT], own + AIDGE_HELIUM_DIRECT_EXACT),
            own + AIDGE_HELIUM_DIRECT_EXACT);
    }
    for (row = 0; row < window->rows; row++) {
        for (column = 0; column < window->columns; column++) {
            level += first[row * window->row_step + column * window->column_step];
        }
    }
    level = (level * own[AIDGE_HELIUM_DIRECT_FIRST] + own[AIDGE_HELIUM_DIRECT_START]) >> 16;
    level = (level + (1 << (drop - 1))) >> drop;
    level = level < layer->lowest ? layer->lowest : level;
    return (int8_t)(level > layer->highest ? layer->highest : level);
}

/* Those of a run of pixels from `column`; from: the first row of the image that they see, `top`: the one where windows begin. */
static void aidge_helium_direct_means_of(int8_t *y, const int8_t *from, int32_t top, int32_t column, int32_t pixels,
                                         const int32_t *own, int32_t drop, const aidge_helium_direct_means *layer)
{
    const aidge_kit_window2d *const shape = &layer->shape;
    const int32_t channels = shape->in_channels;
    aidge_kit_values window;
    int32_t pixel, channel;
    window.row_step = shape->dilation_height * shape->in_width * channels;
    window.column_step = shape->dilation_width * channels;
    window.rows = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height)
                  - aidge_kit_first_tap(top, shape->dilation_height);
    for (pixel = column; pixel < column + pixels; pixel++) {
        const int32_t left = pixel * shape->stride_width - shape->pad_left;
        const int32_t tap = aidge_kit_first_tap(left, shape->dilation_width);
        const int8_t *const seen = from + (left + tap * shape->dilation_width) * channels;
        window.columns = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width) - tap;
        for (channel = 0; channel < channels; channel++) {
            *y++ = aidge_helium_direct_mean(seen + channel, &window, own, drop, layer);
        }
    }
}
#endif
