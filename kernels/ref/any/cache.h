/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* A cache of `outer` pieces, `pieces` for each index; a piece has `rows` rows of `bytes`, of which `written` are replaced. */
typedef struct {
    int32_t outer, pieces, rows, bytes, written, index_bytes, circular;
} aidge_ref_cache_shape;

static inline int32_t aidge_ref_first_row(const void *indices, int32_t place, const aidge_ref_cache_shape *shape)
{
    int64_t first;
    if (shape->index_bytes == 0) {
        return 0;
    }
    first = shape->index_bytes == 8 ? ((const int64_t *)indices)[place] : ((const int32_t *)indices)[place];
    if (shape->circular != 0) {
        first %= shape->rows;
        return (int32_t)(first < 0 ? first + shape->rows : first);
    }
    return first < 0 ? 0 : first > shape->rows - shape->written ? shape->rows - shape->written : (int32_t)first;
}

/* output = cache with new rows from the row that the index names on; the cache may be where the output is. */
static void aidge_ref_write_rows(
    const void *cache, const void *rows, const void *indices, void *output, const aidge_ref_cache_shape *shape)
{
    const uint8_t *from = (const uint8_t *)rows;
    uint8_t *to = (uint8_t *)output;
    int32_t piece;
    if (cache != output) {
        (void)memcpy(output, cache, (uint32_t)shape->outer * (uint32_t)shape->rows * (uint32_t)shape->bytes);
    }
    for (piece = 0; piece < shape->outer; piece++) {
        const int32_t first = aidge_ref_first_row(indices, piece / shape->pieces, shape);
        const int32_t until_end = shape->rows - first;
        const int32_t count = shape->written < until_end ? shape->written : until_end;
        (void)memcpy(to + first * shape->bytes, from, (uint32_t)(count * shape->bytes));
        if (count < shape->written) {
            (void)memcpy(to, from + count * shape->bytes, (uint32_t)((shape->written - count) * shape->bytes));
        }
        to += shape->rows * shape->bytes;
        from += shape->written * shape->bytes;
    }
}
