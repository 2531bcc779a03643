/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>

/*
 * The index at `place` of a list of int32 or int64, counted from the front; one that is out of range becomes
 * the nearest valid one.
 */
static inline int32_t aidge_ref_index(const void *indices, int32_t index_bytes, int32_t place, int32_t size)
{
    int64_t index;
    if (index_bytes == 8) {
        index = ((const int64_t *)indices)[place];
    } else {
        index = ((const int32_t *)indices)[place];
    }
    index += index < 0 ? size : 0;
    return index < 0 ? 0 : index >= size ? size - 1 : (int32_t)index;
}
