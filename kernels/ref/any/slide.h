/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* Rows of `bytes` move on by `step` bytes: the new bytes come last, or first. The data may be where the output is. */
typedef struct {
    int32_t rows, bytes, step;
} aidge_ref_slide_shape;

/* Bytes move `step` lower; four words at a time where both addresses are multiples of 4, as libraries may move byte by byte. */
static inline void aidge_ref_move_down(uint8_t *to, const uint8_t *from, int32_t bytes, int32_t step)
{
    int32_t moved = 0;
#if defined(__GNUC__)
    if ((((uintptr_t)to | (uintptr_t)from) & 3u) == 0u) {
        for (; moved + 16 <= bytes; moved += 16) {
            uint32_t words[4];
            (void)memcpy(words, __builtin_assume_aligned(from + moved, 4), 16);
            (void)memcpy(__builtin_assume_aligned(to + moved, 4), words, 16);
        }
    }
#endif
    while (moved < bytes) {
        const int32_t count = bytes - moved < step ? bytes - moved : step; /* that do not overlap */
        (void)memcpy(to + moved, from + moved, (uint32_t)count);
        moved += count;
    }
}

static void aidge_ref_slide(const void *data, const void *frames, void *output, const aidge_ref_slide_shape *shape)
{
    const uint8_t *from = (const uint8_t *)data;
    const uint8_t *next = (const uint8_t *)frames;
    uint8_t *to = (uint8_t *)output;
    const int32_t kept = shape->bytes - shape->step;
    int32_t row;
    for (row = 0; row < shape->rows; row++) {
        aidge_ref_move_down(to, from + shape->step, kept, shape->step);
        (void)memcpy(to + kept, next, (uint32_t)shape->step);
        from += shape->bytes;
        to += shape->bytes;
        next += shape->step;
    }
}

/* Bytes move `step` higher, the last ones first, in the same way. */
static inline void aidge_ref_move_up(uint8_t *to, const uint8_t *from, int32_t bytes, int32_t step)
{
    int32_t left = bytes;
#if defined(__GNUC__)
    if ((((uintptr_t)to | (uintptr_t)from | (uint32_t)bytes) & 3u) == 0u) {
        while (left >= 16) {
            uint32_t words[4];
            left -= 16;
            (void)memcpy(words, __builtin_assume_aligned(from + left, 4), 16);
            (void)memcpy(__builtin_assume_aligned(to + left, 4), words, 16);
        }
    }
#endif
    while (left > 0) {
        const int32_t count = left < step ? left : step; /* that do not overlap */
        left -= count;
        (void)memcpy(to + left, from + left, (uint32_t)count);
    }
}

static void aidge_ref_slide_back(const void *data, const void *frames, void *output, const aidge_ref_slide_shape *shape)
{
    const uint8_t *from = (const uint8_t *)data;
    const uint8_t *next = (const uint8_t *)frames;
    uint8_t *to = (uint8_t *)output;
    int32_t row;
    for (row = 0; row < shape->rows; row++) {
        aidge_ref_move_up(to + shape->step, from, shape->bytes - shape->step, shape->step);
        (void)memcpy(to, next, (uint32_t)shape->step);
        from += shape->bytes;
        to += shape->bytes;
        next += shape->step;
    }
}
