/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"

/*
 * Neighbouring pixels of one row of a float32 convolution that see the same rows and taps of the window; assembly reads the
 * fields in this order. Values: input channels of a tap, taps of a row, rows; steps in bytes.
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
