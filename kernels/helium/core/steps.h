/* SPDX-License-Identifier: 0BSD */
#include "helium.h"

/* Where the next vector lies. The compiler does not see that it is where the first one plus four is, and lets the loads step on. */
AIDGE_KIT_INLINE const float *aidge_helium_next_of_4(const float *x)
{
    const float *next = x + 4;
    __asm__ volatile("" : "+r"(next));
    return next;
}
