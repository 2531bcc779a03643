/* SPDX-License-Identifier: 0BSD */
#include "strip.h"

/* One row of inputs as one pixel without neighbours. */
static void aidge_helium_row_strip_float32(aidge_helium_strip_float32 *strip, const float *x, const float *limits,
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
