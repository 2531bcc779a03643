/* SPDX-License-Identifier: 0BSD */
#include "correct_row.h"

/*
 * Depthwise convolution, a channel at a time. A row has three parts, which begin at output columns 0, `second` and `last`;
 * together they are one row of word pairs in a plane: X = a + 2^21 b, Y = c + 2^11 b. Parts may overlap: outputs are then
 * written twice, alike.
 *
 * The stream of words: lowest - highest level of the output, highest level, bits of a multiplier's low part, the input's zero
 * point; the three numbers of aidge_kit_load_levels. Then for each channel: the start of its sums; width, constant and
 * multiplier of the requantization, or unit, bias in fractions of the unit and a float for the general one; its weights, 4 in
 * a word, and the last of 4 n + 1 weights is the highest byte of the width; or two weights in a word, if the text says so.
 * kinds: for each channel the number of its corrections, or AIDGE_KIT_NARROW_GENERAL_KIND.
 *
 * Rows and columns mean the plane's; if that is cheaper, they are the columns and rows of the image.
 */
/* Steps in bytes, in the order in which the assembly reads them. */
typedef struct {
    int32_t next_step;            /* of the plane, from the last tap of an output to the first one of the next */
    int32_t out_step, second, last; /* of the output: to the next column, to the other two parts */
    int32_t row_step;             /* of the plane, from a row of taps to the next */
    int32_t row_bytes;            /* that the output of a part has */
    int32_t end_step, out_end;    /* behind a row, to the next one */
} aidge_kit_narrow_sweep;

typedef struct {
    aidge_kit_narrow_sweep sweep, sums;
    int32_t batches, channels;
    int32_t in_rows, in_columns, out_rows, out_columns;
    int32_t in_row_step, in_column_step, out_row_step, out_column_step; /* bytes */
    int32_t in_image, out_image;                                        /* bytes */
    int32_t stride_row, stride_column, pad_row, pad_column;
    int32_t strip_rows;             /* output rows of a strip */
    int32_t window_rows;            /* input rows that an output sees */
    int32_t columns;                /* word pairs in a row of the plane */
    int32_t second, last;           /* first output columns of the other two parts */
    int32_t row_step;               /* words of the plane, from an output row to the next */
    int32_t plane_words, places;    /* words of the plane and of the places */
    int32_t numbers;                /* words of a channel in the stream */
} aidge_kit_narrow_depthwise;

/* The same for all channels: which word pairs of the plane are loaded, from where, and how many rows are computed. */
typedef struct {
    const int32_t *places;
    int32_t *sums;
    int32_t first, count, rows;
} aidge_kit_narrow_strip;

/* Word pairs of the plane from three places each. `places` [-1] is the zero point. */
#if defined(AIDGE_KIT_NAKED) && defined(__thumb__)
AIDGE_KIT_NAKED void aidge_kit_narrow_plane(AIDGE_KIT_PASSED uint32_t *plane, AIDGE_KIT_PASSED const int32_t *places,
                                               AIDGE_KIT_PASSED const int8_t *channel, AIDGE_KIT_PASSED int32_t count)
{
    __asm__(
        ".syntax unified\n"
        "    push {r4-r6, lr}\n"
        "1:\n"
        "    ldm r1!, {r4-r6}\n"
        "    ldrsb r4, [r2, r4]\n"
        "    ldrsb r5, [r2, r5]\n"
        "    ldrsb r6, [r2, r6]\n"
        "    lsls r5, r5, #11\n"
        "    adds r6, r6, r5\n"
        "    lsls r5, r5, #10\n"
        "    adds r4, r4, r5\n"
        "    stm r0!, {r4, r6}\n"
        "    subs r3, r3, #1\n"
        "    bne 1b\n"
        "    pop {r4-r6, pc}\n"
    );
}
#else
AIDGE_KIT_NOINLINE void aidge_kit_narrow_plane(uint32_t *plane, const int32_t *places, const int8_t *channel, int32_t count)
{
    uint32_t *const end = plane + 2 * count;
    do {
        const uint32_t middle = (uint32_t)channel[places[1]] << 11;
        plane[0] = (uint32_t)channel[places[0]] + (middle << 10);
        plane[1] = (uint32_t)channel[places[2]] + middle;
        places += 3;
        plane += 2;
    } while (plane != end);
}
#endif

/* The places of one row of the image, for all columns of the plane. `blank`: what stands for a pad. */
AIDGE_KIT_NOINLINE int32_t *aidge_kit_narrow_places(int32_t *places, int32_t row, int32_t blank,
                                                       const aidge_kit_narrow_depthwise *shape)
{
    const int32_t parts[3] = {0, shape->second * shape->stride_column, shape->last * shape->stride_column};
    int32_t column, part;
    for (column = -shape->pad_column; column < shape->columns - shape->pad_column; column++) {
        AIDGE_KIT_ROLLED
        for (part = 0; part < 3; part++) {
            const int32_t x = parts[part] + column;
            const int32_t inside = ((x >= 0) && (x < shape->in_columns)) ? 1 : 0;
            *places++ = inside != 0 ? row * shape->in_row_step + x * shape->in_column_step : blank;
        }
    }
    return places;
}

/* The strip that begins at an output row: places of its rows inside the image; those outside hold the zero point already. */
AIDGE_KIT_NOINLINE aidge_kit_narrow_strip aidge_kit_narrow_strip_at(int32_t row, const int8_t *input, uint32_t *plane,
                                                                     const int32_t *stream,
                                                                     const aidge_kit_narrow_depthwise *shape)
{
    const int32_t top = row * shape->stride_row - shape->pad_row;
    const int32_t left = shape->out_rows - row;
    int32_t *places = (int32_t *)plane + shape->plane_words;
    int8_t *const blanks = (int8_t *)(places + shape->places);
    const int32_t zero_point = stream[3];
    const int32_t first = top < 0 ? -top : 0;
    int32_t end, word, blank;
    aidge_kit_narrow_strip strip;
    strip.rows = left < shape->strip_rows ? left : shape->strip_rows;
    end = (strip.rows - 1) * shape->stride_row + shape->window_rows;
    end = end < shape->in_rows - top ? end : shape->in_rows - top;
    (void)memset(blanks, zero_point, (uint32_t)shape->channels);
    blank = (int32_t)((uintptr_t)blanks - (uintptr_t)input);
    for (word = 0; word < shape->plane_words; word += 2) {
        plane[word] = (uint32_t)zero_point + ((uint32_t)zero_point << 21);
        plane[word + 1] = (uint32_t)zero_point + ((uint32_t)zero_point << 11);
    }
    strip.sums = (int32_t *)plane + shape->plane_words + shape->places + (shape->channels + 3) / 4;
    *places++ = zero_point;
    strip.places = places;
    strip.first = 2 * first * shape->columns;
    strip.count = end > first ? (end - first) * shape->columns : 0;
    for (word = first; word < end; word++) {
        places = aidge_kit_narrow_places(places, top + word, blank, shape);
    }
    return strip;
}
