/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/*
 * A copy between two places with steps of their own along each of 6 axes, slowest first; steps and starts in elements
 * of element_bytes.
 */
typedef struct {
    int32_t element_bytes;
    int32_t source_start, target_start;
    int32_t dims[6], source_steps[6], target_steps[6];
} aidge_ref_strided_copy_shape;

/* One axis: count elements; copying one element at a time is the slow way, left to odd steps. */
static inline void aidge_ref_copy_run(const uint8_t *source, uint8_t *target, int32_t count, int32_t source_step,
                                      int32_t target_step, int32_t size)
{
    int32_t i;
    if ((source_step == size) && (target_step == size)) {
        (void)memcpy(target, source, (uint32_t)(count * size));
    } else if (size == 1) {
        for (i = 0; i < count; i++) {
            *target = *source;
            source += source_step;
            target += target_step;
        }
    } else if (size == 4) {
        for (i = 0; i < count; i++) {
            (void)memcpy(target, source, 4);
            source += source_step;
            target += target_step;
        }
    } else {
        for (i = 0; i < count; i++) {
            (void)memcpy(target, source, (uint32_t)size);
            source += source_step;
            target += target_step;
        }
    }
}

/* target[target_start + sum of index * target_steps] = source[source_start + sum of index * source_steps]; any type. */
static void aidge_ref_strided_copy(const void *source, void *target, const aidge_ref_strided_copy_shape *shape)
{
    const int32_t size = shape->element_bytes;
    const uint8_t *from = (const uint8_t *)source + shape->source_start * size;
    uint8_t *to = (uint8_t *)target + shape->target_start * size;
    const int32_t *dims = shape->dims;
    int32_t index[5] = {0, 0, 0, 0, 0};
    int32_t axis;
    for (axis = 0; axis < 6; axis++) {
        if (dims[axis] == 0) {
            return;
        }
    }
    for (;;) {
        aidge_ref_copy_run(from, to, dims[5], shape->source_steps[5] * size, shape->target_steps[5] * size, size);
        for (axis = 4; axis >= 0; axis--) {
            from += shape->source_steps[axis] * size;
            to += shape->target_steps[axis] * size;
            index[axis] += 1;
            if (index[axis] < dims[axis]) {
                break;
            }
            from -= shape->source_steps[axis] * size * dims[axis];
            to -= shape->target_steps[axis] * size * dims[axis];
            index[axis] = 0;
        }
        if (axis < 0) {
            return;
        }
    }
}
