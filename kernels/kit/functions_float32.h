/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "exp_float32.h"

/* Horner's rule: coefficients from the highest power on. */
AIDGE_KIT_INLINE float aidge_kit_polynomial(const float *coefficients, int32_t count, float x)
{
    float sum = coefficients[0];
    int32_t i;
    for (i = 1; i < count; i++) {
        sum = aidge_kit_multiply_add(sum, x, coefficients[i]);
    }
    return sum;
}

/* tanh x: near 0 x and a polynomial, elsewhere 1 - 2 / (e^2x + 1), within 2 of the last place. NaN stays NaN. */
AIDGE_KIT_NOINLINE float aidge_kit_tanh(float x)
{
    static const float inner[6] = {1.52596389e-3f, -7.30498787e-3f, 2.12343130e-2f, -5.38320392e-2f, 0.133319616f, -0.333332866f};
    const float size = fabsf(x);
    float result;
    if (size < 0.8f) {
        const float square = aidge_kit_exact(x * x);
        return aidge_kit_multiply_add(aidge_kit_exact(x * square), aidge_kit_polynomial(inner, 6, square), x);
    }
    result = 1.0f - 2.0f / (aidge_kit_exp(2.0f * size) + 1.0f);
    return x < 0.0f ? -result : result;
}

/* The error function: near 0 x and a polynomial, elsewhere 1 less e to the power of another one, within 2 of the last place. */
AIDGE_KIT_NOINLINE float aidge_kit_erf(float x)
{
    static const float inner[6] = {-5.81612985e-4f, 4.95796697e-3f, -2.67419964e-2f, 0.112811215f, -0.376124263f, 0.128379136f};
    static const float outer[7] = {-1.92661624e-4f, 3.01107718e-3f, -2.20987741e-2f, 0.103665702f,
                                   0.637485266f,    1.12749565f,    2.39264758e-4f};
    const float size = fabsf(x);
    float result;
    if (size < 0.95f) {
        return aidge_kit_multiply_add(x, aidge_kit_polynomial(inner, 6, aidge_kit_exact(x * x)), x);
    }
    result = 1.0f - aidge_kit_exp(-aidge_kit_polynomial(outer, 7, size > 3.93f ? 3.93f : size));
    return x < 0.0f ? -result : result;
}

/* 1 / (1 + e^-x): of e = e^-|x|, so that it is as exact far below 0 as elsewhere; what 1 + e loses is made good. */
AIDGE_KIT_NOINLINE float aidge_kit_logistic(float x)
{
    const float part = aidge_kit_exp(-fabsf(x));
    const float sum = aidge_kit_exact(1.0f + part);
    const float lost = aidge_kit_exact(sum - 1.0f) - part;
    const float quotient = aidge_kit_exact_quotient(x < 0.0f ? part : 1.0f, sum);
    return aidge_kit_multiply_add(quotient, lost, quotient);
}
