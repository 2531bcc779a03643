/* SPDX-License-Identifier: 0BSD */
#include "copies.h"
#include "kit/window2d.h"

/*
 * Pools in two steps. What a row of outputs sees of each column becomes one line in scratch, with its pads on both sides; of
 * neighbours in the line become the outputs. So no window is looked at by itself, and edges are like the rest.
 */
typedef struct {
    int32_t channels;
    int32_t columns, inside; /* of the line, and of those the columns of the image */
    int32_t in_row, row_step, column_step, stride; /* in elements */
} aidge_helium_line;

AIDGE_KIT_INLINE aidge_helium_line aidge_helium_line_of(const aidge_kit_window2d *shape)
{
    aidge_helium_line line;
    line.channels = shape->in_channels;
    line.columns = (shape->out_width - 1) * shape->stride_width + (shape->kernel_width - 1) * shape->dilation_width + 1;
    line.inside = line.columns - shape->pad_left;
    line.inside = line.inside < shape->in_width ? line.inside : shape->in_width;
    line.in_row = shape->in_width * line.channels;
    line.row_step = shape->dilation_height * line.in_row;
    line.column_step = shape->dilation_width * line.channels;
    line.stride = shape->stride_width * line.channels;
    return line;
}

#if AIDGE_HELIUM_ASSEMBLY
/* How many outputs of neighbouring pixels one gather takes, where pixels are short and not each of them counts; else 0. */
AIDGE_KIT_INLINE int32_t aidge_helium_gathered(const aidge_helium_line *line, int32_t lanes)
{
    return (line->stride != line->channels) && (2 * line->channels <= lanes) ? lanes / line->channels * line->channels : 0;
}

/* Where in the line the first element of so many outputs of neighbouring pixels lies; at most 16 of them. */
AIDGE_KIT_INLINE void aidge_helium_places(uint8_t *places, const aidge_helium_line *line, int32_t count)
{
    int32_t lane = 0, pixel = 0, channel;
    while (lane < count) {
        for (channel = 0; channel < line->channels; channel++) {
            places[lane] = (uint8_t)(pixel + channel);
            lane++;
        }
        pixel += line->stride;
    }
    for (; lane < 16; lane++) {
        places[lane] = 0;
    }
}
#endif
