/* SPDX-License-Identifier: 0BSD */
#include "../helium.h"

#define AIDGE_HELIUM_MOST_ROWS 8 /* of which an output sees elements */

/* Images, planes, rows and columns of the output, how many elements of the input each sees along these axes; channels. */
typedef struct {
    int32_t dims[4], taps[4];
    int32_t run;
} aidge_helium_resample_shape;

#if AIDGE_HELIUM_ASSEMBLY
/* The weighted sums of four pixels; products are rounded before they are added, as the numpy meaning does it. */
AIDGE_HELIUM_NAKED void aidge_helium_weighted_4(float *y AIDGE_HELIUM_UNUSED, const float *const *pixels AIDGE_HELIUM_UNUSED,
                                                const float *weights AIDGE_HELIUM_UNUSED, int32_t run AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldm r1, {r4-r7}\n\t"
                     "ldm r2, {r8-r11}\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [r4], #16\n\t"
                     "vmul.f32 q0, q0, r8\n\t"
                     "vldrw.u32 q1, [r5], #16\n\t"
                     "vmul.f32 q1, q1, r9\n\t"
                     "vadd.f32 q0, q0, q1\n\t"
                     "vldrw.u32 q1, [r6], #16\n\t"
                     "vmul.f32 q1, q1, r10\n\t"
                     "vadd.f32 q0, q0, q1\n\t"
                     "vldrw.u32 q1, [r7], #16\n\t"
                     "vmul.f32 q1, q1, r11\n\t"
                     "vadd.f32 q0, q0, q1\n\t"
                     "vstrw.32 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r11, pc}");
}

/* The same of one more pixel, which is added. */
AIDGE_HELIUM_NAKED void aidge_helium_add_weighted(float *y AIDGE_HELIUM_UNUSED, const float *pixel AIDGE_HELIUM_UNUSED,
                                                  const float *weight AIDGE_HELIUM_UNUSED, int32_t run AIDGE_HELIUM_UNUSED)
{
    __asm__ volatile("push {r4, lr}\n\t"
                     "ldr r2, [r2]\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [r0]\n\t"
                     "vldrw.u32 q1, [r1], #16\n\t"
                     "vmul.f32 q1, q1, r2\n\t"
                     "vadd.f32 q0, q0, q1\n\t"
                     "vstrw.32 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}");
}
#endif

/* y = the weighted sum of pixels: of `count` rows, which begin at `places`, those at the offsets `columns`. */
static void aidge_helium_weighted_pixels(float *y, const float *input, const int32_t *places, const float *factors, int32_t count,
                                         const int32_t *columns, const float *weights, int32_t taps, int32_t run)
{
    int32_t row, tap;
#if AIDGE_HELIUM_ASSEMBLY
    if ((count == 2) && (taps == 2)) {
        const float *const pixels[4] = {input + places[0] + columns[0], input + places[0] + columns[1],
                                        input + places[1] + columns[0], input + places[1] + columns[1]};
        const float products[4] = {factors[0] * weights[0], factors[0] * weights[1], factors[1] * weights[0],
                                   factors[1] * weights[1]};
        aidge_helium_weighted_4(y, pixels, products, run);
        return;
    }
    (void)memset(y, 0, (uint32_t)run * sizeof *y);
    for (row = 0; row < count; row++) {
        for (tap = 0; tap < taps; tap++) {
            const float product = factors[row] * weights[tap];
            aidge_helium_add_weighted(y, input + places[row] + columns[tap], &product, run);
        }
    }
#else
    int32_t i;
    for (i = 0; i < run; i++) {
        float sum = 0.0f;
        for (row = 0; row < count; row++) {
            for (tap = 0; tap < taps; tap++) {
                volatile float rounded = input[places[row] + columns[tap] + i] * (factors[row] * weights[tap]);
                sum += rounded;
            }
        }
        y[i] = sum;
    }
#endif
}

/* Resizing with weights, channels last. offsets (in elements) and weights: one list after another, for each axis [dims][taps]. */
static void aidge_helium_resample_float32(const float *input, float *output, const int32_t *offsets, const float *weights,
                                          const aidge_helium_resample_shape *shape)
{
    const int32_t *const taps = shape->taps;
    const int32_t *const dims = shape->dims;
    const int32_t planes = dims[0] * taps[0];
    const int32_t rows = planes + dims[1] * taps[1];
    const int32_t columns = rows + dims[2] * taps[2];
    int32_t above, column;
    for (above = 0; above < dims[0] * dims[1] * dims[2]; above++) {
        const int32_t first = above / dims[2] / dims[1] * taps[0];
        const int32_t begin[2] = {planes + above / dims[2] % dims[1] * taps[1], rows + above % dims[2] * taps[2]};
        int32_t places[AIDGE_HELIUM_MOST_ROWS];
        float factors[AIDGE_HELIUM_MOST_ROWS];
        int32_t count = 0, plane, row;
        for (plane = begin[0]; plane < begin[0] + taps[1]; plane++) {
            for (row = begin[1]; row < begin[1] + taps[2]; row++) {
                places[count] = offsets[first] + offsets[plane] + offsets[row];
                factors[count] = weights[plane] * weights[row];
                count++;
            }
        }
        for (column = columns; column < columns + dims[3] * taps[3]; column += taps[3]) {
            aidge_helium_weighted_pixels(output, input, places, factors, count, offsets + column, weights + column, taps[3],
                                         shape->run);
            output += shape->run;
        }
    }
}
