/* SPDX-License-Identifier: 0BSD */
#include "fc.h"
#include "kit/cells.h"

/* By itself, so that the layer has the registers for itself. */
AIDGE_KIT_NOINLINE void aidge_helium_sums_strip_float32(aidge_helium_strip_float32 *strip, const float *x, const float *limits,
                                                        int32_t features, int32_t outputs)
{
    aidge_helium_row_strip_float32(strip, x, limits, features, outputs);
}
