/* SPDX-License-Identifier: 0BSD */
#include "../mve.h"
#include "limited.h"

#if AIDGE_HELIUM_ASSEMBLY
/* Four values within limits {lowest, highest}; NaN stays NaN. */
AIDGE_KIT_INLINE float32x4_t aidge_helium_limited_4(float32x4_t values, const float *limits)
{
    values = vdupq_m_n_f32(values, limits[0], vcmpltq_n_f32(values, limits[0]));
    return vdupq_m_n_f32(values, limits[1], vcmpgtq_n_f32(values, limits[1]));
}
#endif
