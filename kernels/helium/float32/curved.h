/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"
#include "kit/cells.h"

#if !AIDGE_HELIUM_ASSEMBLY
/* y = the curve of x, or x times it; may work in place. */
static void aidge_helium_curve_c(const float *x, float *y, const float *numbers, int32_t count, int32_t times)
{
    for (; count > 0; count--) {
        float value = *x++;
        const float factor = times != 0 ? value : 1.0f;
        aidge_kit_curve_c(&value, 1, numbers);
        *y++ = value * factor;
    }
}
#endif
