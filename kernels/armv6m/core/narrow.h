/* SPDX-License-Identifier: 0BSD */
#include "kit/inline.h"
#include "target.h"

/* In place of a number of corrections where no narrow form is proved. */
enum { AIDGE_ARMV6M_GENERAL_KIND = 255 };

/* A sum in fractions of its unit: `unit` of them, and what is added in these; fits 32 bits, the product alone may not. */
AIDGE_KIT_INLINE int32_t aidge_armv6m_fine(int32_t sum, int32_t unit, int32_t added)
{
    return (int32_t)((uint32_t)sum * (uint32_t)unit + (uint32_t)added);
}

/* Whether the output of a sum is corrected by {value, shift, delta}: narrow_products.Correction. */
AIDGE_KIT_INLINE int32_t aidge_armv6m_is_corrected(int32_t sum, int32_t width, const int32_t *correction)
{
    return (sum >= 0) && (sum <= width) && ((((uint32_t)sum - (uint32_t)correction[0]) << correction[1]) == 0u);
}

#if !AIDGE_ARMV6M_ASSEMBLY
/* The stored value of a sum by two narrow products; what lies beyond the first and the last step saturates. `head`: the first
 * words of the stream. */
static int8_t aidge_armv6m_narrow(int32_t sum, uint32_t width, uint32_t constant, uint32_t multiplier, const int32_t *head)
{
    const uint32_t value = (uint32_t)sum;
    const uint32_t mask = ((uint32_t)1 << head[2]) - 1u;
    uint32_t level = (value * (multiplier >> head[2]) + ((value * (multiplier & mask)) >> head[2]) + constant) >> 24;
    if (value > width) {
        return (int8_t)(sum < 0 ? head[0] + head[1] : head[1]);
    }
    level = (level ^ 0x80u) - 0x80u;
    return (int8_t)(int32_t)level;
}
#endif
