/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "common_exponent.h"
#include "multiply_add.h"

#define AIDGE_KIT_SHIFTER 12582912.0f /* makes the low bits of a sum the integer that is added */

/*
 * e^x of every x: 2^n e^r with n the nearest integer to x / ln 2 and |r| <= ln(2) / 2, e^r by a polynomial whose error is 0.03 of
 * the last place. 2^n are two factors, so that it overflows to infinity and ends in subnormal floats. NaN stays NaN.
 */
AIDGE_KIT_NOINLINE float aidge_kit_exp(float x)
{
    const float limited = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
    const float shifted = aidge_kit_exact(aidge_kit_multiply_add(limited, 1.44269504f, AIDGE_KIT_SHIFTER));
    const float whole = aidge_kit_exact(shifted - AIDGE_KIT_SHIFTER);
    float r = aidge_kit_multiply_add(whole, -0.693359375f, limited); /* exact: the factor has few bits */
    float sum = 1.38165666e-3f;
    uint32_t pattern, half;
    r = aidge_kit_multiply_add(whole, 2.12194440e-4f, r);
    sum = aidge_kit_multiply_add(sum, r, 8.37319996e-3f);
    sum = aidge_kit_multiply_add(sum, r, 4.16685380e-2f);
    sum = aidge_kit_multiply_add(sum, r, 1.66664481e-1f);
    sum = aidge_kit_multiply_add(sum, r, 4.99999911e-1f);
    sum = 1.0f + aidge_kit_exact(aidge_kit_multiply_add(aidge_kit_exact(r * r), sum, r));
    (void)memcpy(&pattern, &shifted, sizeof pattern);
    pattern -= 0x4B400000u - 254u; /* n + 254 */
    half = pattern >> 1;
    return sum * aidge_kit_float_of(half << 23) * aidge_kit_float_of((pattern - half) << 23);
}
