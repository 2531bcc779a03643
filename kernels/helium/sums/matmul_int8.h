/* SPDX-License-Identifier: 0BSD */
#include "kit/batches.h"
#include "core/copies.h"
#include "core/mve.h"

/* Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in elements, 0 repeats. */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t inner, columns;
    int32_t vectors;                /* of 16 bytes, for a column */
    int32_t head_bytes, tail_bytes; /* of the stream before the first pair of columns, of the numbers behind each pair */
    int32_t first_zero, second_zero;
} aidge_helium_matrices;

/*
 * Writes the numbers between the weights of a stream of `count` columns. pattern: the head of the stream, the numbers of a
 * pair of columns, the numbers of a pair before a pair that overlaps it, and the numbers of the last pair.
 */
AIDGE_KIT_NOINLINE void aidge_helium_numbers(int8_t *stream, const int32_t *pattern, int32_t count,
                                             const aidge_helium_matrices *shape)
{
    const int8_t *const numbers = (const int8_t *)pattern + shape->head_bytes;
    int32_t left;
    (void)memcpy(stream, pattern, (uint32_t)shape->head_bytes);
    stream += shape->head_bytes;
    for (left = count; left > 0; left -= 2) {
        const int32_t which = left <= 2 ? 2 : left == 3 ? 1 : 0;
        stream += 32 * shape->vectors;
        (void)memcpy(stream, numbers + which * shape->tail_bytes, (uint32_t)shape->tail_bytes);
        stream += shape->tail_bytes;
    }
}

/* Eight rows of a pair of columns; left: rows that there are. */
#define AIDGE_HELIUM_EIGHT_ROWS(begin)                                                   \
    mask = vctp16q((uint32_t)(left > 0 ? left : 0));                                     \
    first = vldrbq_gather_offset_z_s16(from, places, mask);                              \
    second = vldrbq_gather_offset_z_s16(from + next, places, mask);                      \
    sums[0] = vaddvaq_s16(sums[0], first);                                               \
    sums[1] = vaddvaq_s16(sums[1], second);                                              \
    vstrbq_s16(to + (begin), first);                                                     \
    vstrbq_s16(to + 16 + (begin), second)

/* A pair of columns, `next` apart, as vectors, zeros behind their ends; adds to their sums and returns the end. */
AIDGE_KIT_INLINE int8_t *aidge_helium_pair_of_columns(int8_t *to, const int8_t *from, int32_t next, int32_t *sums,
                                                      const aidge_helium_matrices *shape)
{
    const int32_t step = shape->columns;
    int32_t left = shape->inner;
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)step);
    while (left > 0) {
        mve_pred16_t mask;
        int16x8_t first, second;
        AIDGE_HELIUM_EIGHT_ROWS(0);
        from += 8 * step;
        left -= 8;
        AIDGE_HELIUM_EIGHT_ROWS(8);
        from += 8 * step;
        left -= 8;
        to += 32;
    }
    return to;
}

/* Weights and biases of `count` columns of the second matrix into a stream. */
AIDGE_KIT_NOINLINE void aidge_helium_columns(int8_t *stream, const int8_t *second, int32_t count,
                                             const aidge_helium_matrices *shape)
{
    const int32_t all = shape->inner * shape->second_zero;
    const int32_t next = count > 1 ? 1 : 0;
    int32_t left;
    stream += shape->head_bytes;
    for (left = count; left > 0; left -= 2) {
        int32_t sums[2] = {0, 0};
        second -= (left == 1) && (count > 1) ? 1 : 0; /* the last pair of an odd number overlaps the one before */
        stream = aidge_helium_pair_of_columns(stream, second, next, sums, shape) + shape->tail_bytes;
        sums[0] = shape->first_zero * (all - sums[0]);
        sums[1] = shape->first_zero * (all - sums[1]);
        (void)memcpy(stream - 20, sums, sizeof sums);
        second += 2;
    }
}
