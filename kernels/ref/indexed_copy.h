/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* The dims of the target, which is written from its first to its last element; any type. */
typedef struct {
    int32_t element_bytes;
    int32_t dims[6];
} aidge_ref_indexed_copy_shape;

/*
 * target[i, j, ...] = source[offsets of i + offsets of j + ...], or the element at fill where one of them is negative.
 *
 * offsets: one list after another, for each axis as many as its length; in elements.
 */
static void aidge_ref_indexed_copy(const void *source, void *target, const void *fill, const int32_t *offsets,
                                   const aidge_ref_indexed_copy_shape *shape)
{
    const uint8_t *from = (const uint8_t *)source;
    uint8_t *to = (uint8_t *)target;
    const uint32_t size = (uint32_t)shape->element_bytes;
    int32_t index[6] = {0, 0, 0, 0, 0, 0};
    int32_t axis;
    do {
        const int32_t *list = offsets;
        int32_t place = 0;
        for (axis = 0; axis < 6; axis++) {
            const int32_t offset = list[index[axis]];
            place = (place < 0) || (offset < 0) ? -1 : place + offset;
            list += shape->dims[axis];
        }
        memcpy(to, place < 0 ? (const uint8_t *)fill : from + (uint32_t)place * size, size);
        to += size;
        for (axis = 5; axis >= 0; axis--) {
            index[axis] += 1;
            if (index[axis] < shape->dims[axis]) {
                break;
            }
            index[axis] = 0;
        }
    } while (axis >= 0);
}
