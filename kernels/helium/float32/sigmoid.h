/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "core/helium.h"

#if !AIDGE_HELIUM_ASSEMBLY
/* y = 1 / (1 + e^-x); may work in place. */
static void aidge_helium_sigmoid_c(const float *x, float *y, int32_t count)
{
    for (; count > 0; count--) {
        const float part = expf(-fabsf(*x));
        *y++ = (*x++ < 0.0f ? part : 1.0f) / (1.0f + part);
    }
}
#endif
