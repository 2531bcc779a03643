/* SPDX-License-Identifier: 0BSD */
#include "inline.h"
#include "wide.h"

/* T[k] of `factors` [40]: 16 for k / 16, 16 for what is left of k, and a bit for each k. */
AIDGE_KIT_NOINLINE uint32_t aidge_kit_exponential(const uint32_t *factors, uint32_t k)
{
    const uint64_t product = aidge_kit_product(factors[k >> 4], factors[16u + (k & 15u)]) + 0x80000000u;
    return (uint32_t)(product >> 32) + ((factors[32u + (k >> 5)] >> (k & 31u)) & 1u);
}
