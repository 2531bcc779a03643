/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include "resample_float32.h"

/* The input's dims and steps, and where the region's begin and end of an axis stand in roi (-1: the whole axis). */
typedef struct {
    int32_t sizes[5], steps[5], begins[5], ends[5], nearest;
} aidge_ref_crop_shape;

/* The weights of the neighbours for a place at `ratio` (0 < ratio <= 1) between the second last left and the first right one. */
static inline void aidge_ref_crop_weights(float *weights, int32_t taps, float ratio, float a)
{
    if (taps == 2) {
        weights[0] = 1.0f - ratio;
        weights[1] = ratio;
    } else {
        const float far = 1.0f + ratio;
        const float near = 1.0f - ratio;
        const float rest = 2.0f - ratio;
        weights[0] = ((a * far - 5.0f * a) * far + 8.0f * a) * far - 4.0f * a;
        weights[1] = ((a + 2.0f) * ratio - (a + 3.0f)) * ratio * ratio + 1.0f;
        weights[2] = ((a + 2.0f) * near - (a + 3.0f)) * near * near + 1.0f;
        weights[3] = ((a * rest - 5.0f * a) * rest + 8.0f * a) * rest - 4.0f * a;
    }
}

/* The neighbours of one place along an axis of `size` elements: offsets (negative: outside) and weights. */
static inline void aidge_ref_crop_place(int32_t *offsets, float *weights, float place, int32_t size, int32_t step,
                                        int32_t taps, int32_t nearest, float a)
{
    const float left = floorf(place);
    const float ratio = place > left ? place - left : 1.0f;
    int32_t first, tap;
    if (!((place >= 0.0f) && (place <= (float)(size - 1)))) {
        for (tap = 0; tap < taps; tap++) {
            offsets[tap] = -1;
            weights[tap] = 0.0f;
        }
        return;
    }
    first = (int32_t)left - (place > left ? 0 : 1);
    if (taps == 1) {
        const int32_t right = ((ratio >= 1.0f) || (nearest == 3) || ((nearest == 0) && (ratio > 0.5f))
                              || ((nearest == 1) && (ratio >= 0.5f))) ? 1 : 0;
        first += right;
        weights[0] = 1.0f;
    } else {
        first -= taps / 2 - 1;
        aidge_ref_crop_weights(weights, taps, ratio, a);
    }
    for (tap = 0; tap < taps; tap++) {
        const int32_t index = first + tap;
        offsets[tap] = (index < 0 ? 0 : index >= size ? size - 1 : index) * step;
    }
}

/* An offset and a weight for every tap of every place of every axis of the region. */
AIDGE_KIT_NOINLINE void aidge_ref_crop_places(int32_t *offsets, float *weights, const float *roi, const float *numbers,
                                              const aidge_ref_resample_shape *shape, const aidge_ref_crop_shape *crop)
{
    int32_t axis, i;
    int32_t used = 0;
    AIDGE_KIT_ROLLED
    for (axis = 0; axis < 5; axis++) {
        const float last = (float)(crop->sizes[axis] - 1);
        const float begin = crop->begins[axis] < 0 ? 0.0f : roi[crop->begins[axis]];
        const float part = (crop->ends[axis] < 0 ? 1.0f : roi[crop->ends[axis]]) - begin;
        const float length = numbers[axis];
        for (i = 0; i < shape->dims[axis]; i++) {
            const float share = length > 1.0f ? (float)i / (length - 1.0f) : 0.5f;
            aidge_ref_crop_place(offsets + used, weights + used, (begin + share * part) * last, crop->sizes[axis],
                                 crop->steps[axis], shape->taps[axis], crop->nearest, numbers[5]);
            used += shape->taps[axis];
        }
    }
}

/*
 * Resizing of a region of run time, float32. numbers: the lengths of the result's axes before rounding, the cubic
 * coefficient, the value outside. scratch: the offsets and weights of all places.
 */
static void aidge_ref_crop_and_resize_float32(const float *input, const float *roi, float *output, void *scratch,
                                              const float *numbers, const aidge_ref_resample_shape *shape,
                                              const aidge_ref_crop_shape *crop)
{
    int32_t *offsets = (int32_t *)scratch;
    float *weights;
    int32_t axis;
    int32_t total = 0;
    AIDGE_KIT_ROLLED
    for (axis = 0; axis < 5; axis++) {
        total += shape->dims[axis] * shape->taps[axis];
    }
    weights = (float *)scratch + total;
    aidge_ref_crop_places(offsets, weights, roi, numbers, shape, crop);
    aidge_ref_resample_float32(input, output, offsets, weights, numbers + 6, shape);
}
