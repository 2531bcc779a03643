/* SPDX-License-Identifier: 0BSD */
#include <stddef.h>
#include "kit/batches.h"
#include "fc_int8.h"

/*
 * Batches of matrices [rows][inner] and [inner][columns] over 4 outer axes; steps in elements, 0 repeats. `band` columns, a
 * multiple of 4, are a stream at a time, of `stream_words` at most; a group of them ends in `tail_words`.
 */
typedef struct {
    int32_t dims[4], first_steps[4], second_steps[4];
    int32_t rows, inner, columns, band, stream_words, tail_words;
} aidge_cortexm_product;

/* The words of `pattern`: the part of the stream that is known before the matrices are. */
enum {
    AIDGE_CORTEXM_FIRST_ZERO,  /* zero point of the first matrix */
    AIDGE_CORTEXM_SECOND_ZERO, /* of the second one, twice as int16 */
    AIDGE_CORTEXM_EXTRA,       /* what is added to every bias */
    AIDGE_CORTEXM_STATED,      /* 1 where the tail begins with 2 * first column + form */
    AIDGE_CORTEXM_PATTERN_HEAD,
    AIDGE_CORTEXM_PATTERN_TAIL = (int)AIDGE_CORTEXM_PATTERN_HEAD + (int)AIDGE_CORTEXM_HEAD_WORDS
};

/* x - y in both halves: SSUB16. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_minus(uint32_t x, uint32_t y)
{
    return (uint32_t)__ssub16((int16x2_t)x, (int16x2_t)y);
}

/* The weights of a pair of taps for 4 columns, from two rows of the second matrix (the upper one may be missing: 0). */
AIDGE_CORTEXM_INLINE void aidge_cortexm_product_pair(const int8_t *low, const int8_t *high, uint32_t zero, uint32_t *words,
                                                     uint32_t *sums)
{
    const uint32_t x = aidge_cortexm_load(low);
    const uint32_t y = high != NULL ? aidge_cortexm_load(high) : 0u;
    const uint32_t x_even = aidge_cortexm_minus(aidge_cortexm_even_bytes(x), zero);
    const uint32_t x_odd = aidge_cortexm_minus(aidge_cortexm_odd_bytes(x), zero);
    const uint32_t y_even = high != NULL ? aidge_cortexm_minus(aidge_cortexm_even_bytes(y), zero) : 0u;
    const uint32_t y_odd = high != NULL ? aidge_cortexm_minus(aidge_cortexm_odd_bytes(y), zero) : 0u;
    const uint32_t ones = 0x00010001u;
    words[0] = (x_even & 0xFFFFu) | (y_even << 16);
    words[1] = (x_odd & 0xFFFFu) | (y_odd << 16);
    AIDGE_KIT_STORED_FIRST;
    words[2] = (x_even >> 16) | (y_even & 0xFFFF0000u);
    words[3] = (x_odd >> 16) | (y_odd & 0xFFFF0000u);
    sums[0] = aidge_cortexm_dot(words[0], ones, sums[0]);
    sums[1] = aidge_cortexm_dot(words[1], ones, sums[1]);
    sums[2] = aidge_cortexm_dot(words[2], ones, sums[2]);
    sums[3] = aidge_cortexm_dot(words[3], ones, sums[3]);
}

/* A group of 4 columns of the second matrix as biases and weights; returns their end. */
AIDGE_CORTEXM_NOINLINE uint32_t *aidge_cortexm_product_group(const int8_t *from, uint32_t *group, const int32_t *pattern,
                                                             int32_t inner, int32_t columns)
{
    const uint32_t zero = (uint32_t)pattern[AIDGE_CORTEXM_SECOND_ZERO];
    uint32_t *const biases = group;
    uint32_t sums[4] = {0u, 0u, 0u, 0u};
    int32_t k;
    group += 4;
    for (k = inner; k >= 4; k -= 4) {
        aidge_cortexm_product_pair(from, from + 2 * columns, zero, group, sums);
        aidge_cortexm_product_pair(from + columns, from + 3 * columns, zero, group + 4, sums);
        from += 4 * columns;
        group += 8;
    }
    if (k > 0) {
        if (k > 2) {
            aidge_cortexm_product_pair(from, from + 2 * columns, zero, group, sums);
        } else {
            aidge_cortexm_product_pair(from, 0, zero, group, sums);
        }
        if (k > 1) {
            aidge_cortexm_product_pair(from + columns, 0, zero, group + 4, sums);
        } else {
            (void)memset(group + 4, 0, 16);
        }
        group += 8;
    }
    for (k = 0; k < 4; k++) {
        biases[k] = (uint32_t)pattern[AIDGE_CORTEXM_EXTRA] - (uint32_t)pattern[AIDGE_CORTEXM_FIRST_ZERO] * sums[k];
    }
    return group;
}

/* `count` columns of the second matrix as a stream for a fully connected layer; returns its bytes. */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_product_stream(const int8_t *second, int32_t *stream, const int32_t *pattern,
                                                            const aidge_cortexm_product *shape, int32_t count)
{
    uint32_t *group = (uint32_t *)stream;
    int32_t first, i;
    for (i = 0; i < AIDGE_CORTEXM_HEAD_WORDS; i++) {
        *group++ = (uint32_t)pattern[AIDGE_CORTEXM_PATTERN_HEAD + i];
    }
    for (first = 0; first < count; first += 4) {
        const int32_t column = first + 4 <= count ? first : count - 4;
        uint32_t *const tail = aidge_cortexm_product_group(second + column, group, pattern, shape->inner, shape->columns);
        group = tail;
        for (i = 0; i < shape->tail_words; i++) {
            *group++ = (uint32_t)pattern[AIDGE_CORTEXM_PATTERN_TAIL + i];
        }
        if (pattern[AIDGE_CORTEXM_STATED] != 0) {
            tail[0] |= (uint32_t)column << 1;
        }
    }
    return (int32_t)((group - (uint32_t *)stream) * 4);
}
