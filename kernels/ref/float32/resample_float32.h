/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "shared/float_model.h"
#include "kit/inline.h"

/* A product that is rounded before it is added, whatever the compiler may contract: the numpy meaning rounds it, too. */
AIDGE_KIT_INLINE float aidge_ref_rounded(float product)
{
#if defined(__GNUC__) && !defined(AIDGE_WITHOUT_ASSEMBLY) && defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4)
    __asm__("" : "+t"(product));
    return product;
#else
    volatile float rounded = product;
    return rounded;
#endif
}

/* The dims of the output, slowest axis first, and how many input elements each output element of an axis looks at. */
typedef struct {
    int32_t dims[5], taps[5];
} aidge_ref_resample_shape;

/* The weighted sum for one output element; place: where the lists of its offsets and weights along each axis begin. */
AIDGE_KIT_NOINLINE float aidge_ref_resample_sum(const float *input, const int32_t *offsets, const float *weights,
                                                const int32_t *place, const int32_t *taps)
{
    float sum = 0.0f;
    int32_t a, b, c, d, e;
    for (a = place[0]; a < place[0] + taps[0]; a++) {
        for (b = place[1]; b < place[1] + taps[1]; b++) {
            for (c = place[2]; c < place[2] + taps[2]; c++) {
                const float *row = input + offsets[a] + offsets[b] + offsets[c];
                const float outer = weights[a] * weights[b] * weights[c];
                d = place[3];
                e = place[4];
                do { /* one loop, which no compiler turns into vectors that fill the stack */
                    sum += aidge_ref_rounded(row[offsets[d] + offsets[e]] * (outer * weights[d] * weights[e]));
                    e++;
                    if (e == place[4] + taps[4]) {
                        e = place[4];
                        d++;
                    }
                } while (d < place[3] + taps[3]);
            }
        }
    }
    return sum;
}

/*
 * Resizing with weights, float32. offsets and weights: one list after another, for each axis [dims][taps]; offsets in elements,
 * negative where the output is *fill.
 */
static void aidge_ref_resample_float32(const float *input, float *output, const int32_t *offsets,
                                       const float *weights, const float *fill,
                                       const aidge_ref_resample_shape *shape)
{
    int32_t place[5];
    int32_t total = 0;
    int32_t axis;
    AIDGE_KIT_ROLLED
    for (axis = 0; axis < 5; axis++) {
        place[axis] = total;
        total += shape->dims[axis] * shape->taps[axis];
    }
    do {
        int32_t end = total;
        int32_t outside = 0;
        AIDGE_KIT_ROLLED
        for (axis = 0; axis < 5; axis++) {
            outside |= offsets[place[axis]] < 0 ? 1 : 0;
        }
        *output++ = outside != 0 ? *fill : aidge_ref_resample_sum(input, offsets, weights, place, shape->taps);
        AIDGE_KIT_ROLLED
        for (axis = 4; axis >= 0; axis--) {
            place[axis] += shape->taps[axis];
            if (place[axis] < end) {
                break;
            }
            end -= shape->dims[axis] * shape->taps[axis];
            place[axis] = end;
        }
    } while (axis >= 0);
}
