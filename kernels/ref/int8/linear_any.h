/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "shared/float_model.h"
#include "shared/linear_shape.h"

/* The indices of element number `place` of three axes. */
static inline void aidge_ref_split_place(int32_t *at, int32_t place, const int32_t *dims)
{
    at[2] = place % dims[2];
    at[1] = place / dims[2] % dims[1];
    at[0] = place / dims[2] / dims[1];
}

/* The step from the first element of a channel to that under a tap, -1 outside. */
static inline int32_t aidge_ref_linear_tap(const aidge_ref_linear_shape *shape, const int32_t *at, int32_t tap)
{
    int32_t taps[3];
    int32_t axis;
    int32_t from = 0;
    aidge_ref_split_place(taps, tap, shape->kernel);
    for (axis = 0; axis < 3; axis++) {
        const int32_t place = at[axis] * shape->strides[axis] - shape->pads[axis] + taps[axis] * shape->dilations[axis];
        if ((place < 0) || (place >= shape->in[axis])) {
            return -1;
        }
        from += place * shape->in_steps[2 + axis];
    }
    return from;
}

/* levels: zero point of the input; lowest, highest level and zero point of the output. scaled is rounded half to even. */
static inline int32_t aidge_ref_linear_level(float scaled, const int32_t *levels)
{
    const float level = rintf(scaled);
    const float low = (float)(levels[1] - levels[3]);
    const float high = (float)(levels[2] - levels[3]);
    return (int32_t)(level < low ? low : level > high ? high : level) + levels[3];
}
