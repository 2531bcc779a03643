/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"

/* 1 / (1 + e^-x), from |x| so that nothing overflows. */
static float aidge_ref_logistic_float32(float x)
{
    const float upper = 1.0f / (1.0f + expf(-fabsf(x)));
    return x < 0.0f ? 1.0f - upper : upper;
}
