/* SPDX-License-Identifier: 0BSD */
#include "core/helium.h"
#include "kit/exact.h"

#if !AIDGE_HELIUM_ASSEMBLY
static float aidge_helium_real(int32_t bits)
{
    float value;
    (void)memcpy(&value, &bits, sizeof value);
    return value;
}

/* y = saturate(rint_half_even(x / scale) + zero point); NaN becomes the zero point. numbers: 1 / scale in two parts, zero
 * point, scale; floats as their bits. */
static void aidge_helium_quantize_c(const float *x, int8_t *y, const int32_t *numbers, int32_t count)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds half to even */
    const float scale = aidge_helium_real(numbers[3]);
    for (; count > 0; count--) {
        volatile float shifted; /* a wider intermediate would not round here */
        float level = aidge_kit_exact_quotient(*x++, scale);
        int32_t value;
        level = level >= -256.0f ? level : level < -256.0f ? -256.0f : 0.0f;
        shifted = (level > 256.0f ? 256.0f : level) + magic;
        value = (int32_t)(shifted - magic) + numbers[2];
        value = value < -128 ? -128 : value;
        *y++ = (int8_t)(value > 127 ? 127 : value);
    }
}

/* y = (x - zero point) * scale; numbers: the scale's bits, the zero point with its sign changed. */
static void aidge_helium_dequantize_c(const int8_t *x, float *y, const int32_t *numbers, int32_t count)
{
    const float scale = aidge_helium_real(numbers[0]);
    for (; count > 0; count--) {
        *y++ = (float)(*x++ + numbers[1]) * scale;
    }
}
#endif
