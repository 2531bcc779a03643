/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/inline.h"

/* base to the power of exponent modulo 2^64; a negative exponent gives the quotient towards zero (0 for base 0). */
AIDGE_KIT_INLINE int64_t aidge_ref_power(int64_t base, int64_t exponent)
{
    uint64_t result = 1u;
    uint64_t factor = (uint64_t)base;
    uint64_t left;
    if (exponent < 0) {
        return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
    }
    for (left = (uint64_t)exponent; left != 0u; left >>= 1) {
        if ((left & 1u) != 0u) {
            result *= factor;
        }
        factor *= factor;
    }
    return (int64_t)result;
}
