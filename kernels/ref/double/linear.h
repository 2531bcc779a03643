/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include "kit/fixed.h"
#include "shared/linear_shape.h"

/* The first tap of an axis inside the image, if tap 0 is at `start`, and the number of taps inside. */
typedef struct {
    int32_t at, first, count;
} aidge_ref_taps_double;

static inline aidge_ref_taps_double aidge_ref_see_double(const aidge_ref_linear_shape *shape, int32_t axis, int32_t place)
{
    const int32_t dilation = shape->dilations[axis];
    aidge_ref_taps_double seen;
    seen.at = place * shape->strides[axis] - shape->pads[axis];
    seen.first = 0;
    while (seen.at < 0) {
        seen.at += dilation;
        seen.first++;
    }
    seen.count = 0;
    while ((seen.first + seen.count < shape->kernel[axis]) && (seen.at + seen.count * dilation < shape->in[axis])) {
        seen.count++;
    }
    return seen;
}
