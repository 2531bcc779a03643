/* SPDX-License-Identifier: 0BSD */
#include "limited.h"

/*
 * Neighbouring pixels of one row of a float32 convolution that see the same rows and taps of the window. What the
 * assembly knows, in this order. Values: input channels of a tap, taps of a row, rows; steps in bytes.
 */
typedef struct {
    int32_t blocks;                   /* of pixels; counted down */
    const float *source;              /* the first value that the next block sees; it moves on */
    int32_t pixel_step, output_step;  /* to the next pixel */
    int32_t rows;                     /* that are seen */
    int32_t first;                    /* values that are not seen before the first row */
    int32_t taps;                     /* runs of a row that lie apart */
    int32_t quads, singles;           /* values of a run: in fours, and what is left over */
    int32_t last;                     /* values that are not seen after the last row */
    int32_t row_step, skipped;        /* from the end of a row to the next one's begin; values that are not seen between them */
    int32_t tap_step;                 /* from the end of a run to the next one's begin; 0 where they do not lie apart */
    int32_t channels;                 /* of the output */
    const float *limits;              /* lowest and highest */
} aidge_helium_strip_float32;

/* One row of inputs as one pixel without neighbours. */
AIDGE_KIT_NOINLINE void aidge_helium_row_strip_float32(aidge_helium_strip_float32 *strip, const float *x, const float *limits,
                                                       int32_t features, int32_t outputs)
{
    (void)memset(strip, 0, sizeof *strip);
    strip->source = x;
    strip->blocks = strip->rows = strip->taps = 1;
    strip->quads = features / 4;
    strip->singles = features & 3;
    strip->channels = outputs;
    strip->limits = limits;
}

#if !AIDGE_HELIUM_ASSEMBLY
/* The stream has biases and then one weight for each value, of each `group` of output channels and then of the rest. */
static void aidge_helium_pixels_float32(aidge_helium_strip_float32 *strip, float *y, const float *stream, int32_t pixels,
                                        int32_t group)
{
    const int32_t run = 4 * strip->quads + strip->singles;
    const int32_t whole = strip->channels / group * group;
    int32_t pixel, channel, row, tap, value;
    for (pixel = 0; pixel < pixels * strip->blocks; pixel++) {
        const float *numbers = stream;
        for (channel = 0; channel < strip->channels; channel++) {
            const int32_t together = channel < whole ? group : strip->channels - whole;
            const float *from = strip->source;
            const float *w = numbers + channel % group + together * (1 + strip->first);
            float sum = numbers[channel % group];
            for (row = 0; row < strip->rows; row++) {
                for (tap = 0; tap < strip->taps; tap++) {
                    for (value = 0; value < run; value++) {
                        sum += *from++ * *w;
                        w += together;
                    }
                    from += strip->tap_step / 4;
                }
                from += strip->row_step / 4;
                w += strip->skipped * together;
            }
            y[channel] = aidge_helium_limited_float32(sum, strip->limits);
            if (channel % group == group - 1) {
                numbers = w + (strip->last - strip->skipped) * together - (group - 1);
            }
        }
        strip->source += strip->pixel_step / 4;
        y += strip->output_step / 4;
    }
}
#endif
