/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "clamp_float32.h"

/* output = clamp(first - second) within bounds {lowest, highest}, float32: one run, in which an operand with step 0 repeats. */
static void aidge_ref_sub_run_float32(const float *first, const float *second, float *output, const float *bounds, int32_t length,
                                      int32_t first_step, int32_t second_step)
{
    for (; length > 0; length--) {
        *output++ = aidge_ref_clamp_float32(*first - *second, bounds);
        first += first_step;
        second += second_step;
    }
}
