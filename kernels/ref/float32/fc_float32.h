/* SPDX-License-Identifier: 0BSD */
#include <string.h>
#include "clamp_float32.h"
#include "dot_float32.h"
#include "shared/fc_shape.h"

/*
 * output = clamp(input * weights + bias), float32.
 *
 * weights: for each block of 4 outputs [in_features][4]; the last out_features % 4 outputs one by one as [in_features].
 * bias: [out_features]; bounds: {lowest, highest}.
 * Not inlined: at -O3 a layer of constant size would have its unrolled loops' values on the stack.
 */
AIDGE_KIT_NOINLINE void aidge_ref_fc_float32(const float *input, float *output, const float *weights, const float *bias,
                                             const float *bounds, const aidge_ref_fc_shape *shape)
{
    const int32_t count = shape->in_features;
    int32_t batch, left, i;
    for (batch = 0; batch < shape->batches; batch++) {
        const float *w = weights;
        const float *b = bias;
        for (left = shape->out_features; left >= 4; left -= 4) {
            float sums[4];
            (void)memcpy(sums, b, sizeof sums);
            b += 4;
            aidge_ref_dot4_float32(input, w, count, sums);
            for (i = 0; i < 4; i++) {
                *output++ = aidge_ref_clamp_float32(sums[i], bounds);
            }
            w += count * 4;
        }
        for (left = shape->out_features & 3; left > 0; left--) {
            *output++ = aidge_ref_clamp_float32(*b++ + aidge_ref_dot_float32(input, w, count), bounds);
            w += count;
        }
        input += count;
    }
}
