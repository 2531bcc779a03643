/* SPDX-License-Identifier: MIT */
#ifndef SENSOR_POLYNOMIAL_H
#define SENSOR_POLYNOMIAL_H
#include <stdint.h>

/* The same operations in the same order as in polynomial.py. */
static void sensor_polynomial(const float *input, float *output, const float *numbers, int32_t count, int32_t elements)
{
    for (int32_t element = 0; element < elements; element++) {
        float result = 0.0f;

        for (int32_t index = count - 1; index >= 0; index--) {
            result = result * input[element] + numbers[index];
        }
        output[element] = result;
    }
}

#endif
