/* SPDX-License-Identifier: 0BSD */
#include "kit/fixed.h"

/* A level between lowest and highest. */
AIDGE_KIT_INLINE int32_t aidge_ref_between_double(int32_t level, int32_t lowest, int32_t highest)
{
    return level < lowest ? lowest : level > highest ? highest : level;
}
