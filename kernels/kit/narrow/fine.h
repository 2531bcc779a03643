/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>
#include "kit/inline.h"
#include "kit/naked.h"

/* In place of a number of corrections where no narrow form is proved. */
enum { AIDGE_KIT_NARROW_GENERAL_KIND = 255 };

/* A sum in fractions of its unit: `unit` of them, and what is added in these; fits 32 bits, the product alone may not. */
AIDGE_KIT_INLINE int32_t aidge_kit_narrow_fine(int32_t sum, int32_t unit, int32_t added)
{
    return (int32_t)((uint32_t)sum * (uint32_t)unit + (uint32_t)added);
}

/* Whether the output of a sum is corrected by {value, shift, delta}: narrow_products.Correction. */
AIDGE_KIT_INLINE int32_t aidge_kit_narrow_is_corrected(int32_t sum, int32_t width, const int32_t *correction)
{
    return (sum >= 0) && (sum <= width) && ((((uint32_t)sum - (uint32_t)correction[0]) << correction[1]) == 0u);
}

