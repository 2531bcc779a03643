/* SPDX-License-Identifier: 0BSD */
#include "core/lines.h"
#include "planes.h"

/* The blocks of groups of a convolution, each a layer of its own whose pixels lie apart. */
typedef struct {
    int32_t blocks, together, last;  /* blocks; groups of one; the first group of the last, which may overlap the one before */
    int32_t channels, outputs;       /* of one group */
} aidge_cortexm_groups;

/* As aidge_cortexm_load_lines, of the first `channels` channels of each pixel. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_load_group(aidge_cortexm_rows *rows, const aidge_cortexm_window *shape, int32_t top,
                                                   int32_t channels)
{
    const int32_t gap = shape->channels - channels; /* a local: what is stored might be the shape, for all the compiler knows */
    int32_t row;
    for (row = aidge_cortexm_move_rows(rows, shape, top); row < shape->rows; row++) {
        const aidge_cortexm_piece piece = aidge_cortexm_piece_of(rows, shape, row);
        uint32_t *const words = rows->words + row * shape->row_words;
        const int8_t *source = piece.source;
        int8_t *target = (int8_t *)words + (piece.target - words) * channels;
        int32_t pixels, count;
        for (pixels = piece.pixels; pixels > 0; pixels--) {
            for (count = channels; count >= 4; count -= 4) {
                aidge_cortexm_store(target, aidge_cortexm_load(source));
                source += 4;
                target += 4;
            }
            for (; count > 0; count--) {
                *target++ = *source++;
            }
            source += gap;
        }
    }
}
