/* SPDX-License-Identifier: 0BSD */
#include "kit/narrow/correct_row.h"

/*
 * Depthwise convolution, a channel at a time, from a plane of its bytes; zero points are in place of pads. Rows and columns are
 * those of the plane; where that is cheaper, they are the columns and rows of the image. Outputs are computed in tiles of
 * neighbours in a row; the last tile of a row may overlap the one before.
 *
 * kit/narrow/depthwise.h describes the stream of words and the kinds.
 */

/* Steps in bytes, in the order in which the assembly reads them. */
typedef struct {
    int32_t row_step, next_step;    /* of the plane, from a row of taps to the next, from the last one to the next tile */
    int32_t out_step;               /* of the output, to the next column */
    int32_t whole_bytes, row_bytes; /* of the output: of the tiles of a row that do not overlap, of a row */
    int32_t back, out_back;         /* from there to the last tile */
    int32_t end_step, out_end;      /* behind a row, to the next one */
    int32_t turn_step;              /* of the plane, to the taps of the next turn */
} aidge_rv32_sweep;

/* Rows of a channel of the image that go to a plane: columns in whole groups of 4, and the others; steps in the image to the next
 * column, behind a row to the next one, there and in the plane. The assembly reads them in this order. */
typedef struct {
    int32_t whole, left, column_step, row_skip, plane_skip;
} aidge_rv32_rows;

typedef struct {
    aidge_rv32_sweep sweep, sums;
    aidge_rv32_rows loads;
    int32_t batches, channels;
    int32_t in_rows, out_rows, out_columns;
    int32_t in_row_step, out_row_step, out_column_step;
    int32_t in_image, out_image;
    int32_t stride_row, pad_row, pad_column;
    int32_t strip_rows;         /* output rows of a strip */
    int32_t window_rows;        /* input rows that an output sees */
    int32_t columns;            /* of the plane */
    int32_t row_step;           /* of the plane, from an output row to the next */
    int32_t plane_bytes;        /* up to the sums of a row */
    int32_t numbers;            /* words of a channel in the stream */
} aidge_rv32_depthwise;

/* The same for all channels: where in the plane the rows inside of the image begin, and in the image, how many they are; how
 * many rows are computed. */
typedef struct {
    int32_t *sums;
    int32_t first, source, count, rows;
} aidge_rv32_strip;

/* The strip that begins at an output row. Zero points fill the rows of the plane that are outside the image, from the first
 * strip on. */
AIDGE_KIT_NOINLINE aidge_rv32_strip aidge_rv32_strip_at(int32_t row, int8_t *plane, const int32_t *stream,
                                                        const aidge_rv32_depthwise *shape)
{
    const int32_t top = row * shape->stride_row - shape->pad_row;
    const int32_t left = shape->out_rows - row;
    const int32_t first = top < 0 ? -top : 0;
    int32_t end;
    aidge_rv32_strip strip;
    strip.rows = left < shape->strip_rows ? left : shape->strip_rows;
    end = (strip.rows - 1) * shape->stride_row + shape->window_rows;
    if ((row == 0) || (top < 0) || (end > shape->in_rows - top)) {
        (void)memset(plane, stream[3], (uint32_t)shape->plane_bytes);
    }
    end = end < shape->in_rows - top ? end : shape->in_rows - top;
    strip.sums = (int32_t *)(void *)(plane + shape->plane_bytes);
    strip.first = first * shape->columns + shape->pad_column;
    strip.source = (top + first) * shape->in_row_step;
    strip.count = end - first;
    return strip;
}

/* Rows of all channels to a plane. */
AIDGE_KIT_NOINLINE void aidge_rv32_rows_to_plane(int8_t *plane, const int8_t *source, const aidge_rv32_depthwise *shape,
                                                 int32_t rows)
{
    for (; rows > 0; rows--) {
        int32_t left;
        for (left = shape->loads.whole; left > 0; left -= 4) {
            plane[0] = source[0];
            plane[1] = source[1];
            plane[2] = source[2];
            plane[3] = source[3];
            plane += 4;
            source += 4;
        }
        for (left = shape->loads.left; left > 0; left--) {
            *plane++ = *source++;
        }
        plane += shape->loads.plane_skip;
        source += shape->loads.row_skip;
    }
}
