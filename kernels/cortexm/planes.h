/* SPDX-License-Identifier: 0BSD */
#include "window.h"

/* Unpack the rows of the buffer from row `row` on: int16 pairs of channels (c, c + 2), (c + 1, c + 3), a plane per pair. */
static void aidge_cortexm_load_planes(aidge_cortexm_rows *rows, const aidge_cortexm_window *shape, int32_t top)
{
    const int32_t span = shape->span;
    const int32_t channels = shape->channels;
    const int32_t begin = rows->first < 0 ? -rows->first : 0;
    const int32_t room = shape->in_width - rows->first;
    const int32_t end = room < span ? room : span;
    int32_t row = aidge_cortexm_move_rows(rows, shape, top);
    for (; row < shape->rows; row++) {
        uint32_t *words = rows->words + row * shape->row_words;
        const int32_t y = top + row;
        if ((y < 0) || (y >= shape->in_height)) {
            aidge_cortexm_fill(words, rows->fill, shape->row_words);
        } else {
            const int8_t *source = rows->input + (y * shape->in_width + rows->first + begin) * channels;
            int32_t x;
            for (x = begin; x < end; x++) {
                uint32_t *target = words + x;
                int32_t left;
                for (left = channels; left > 0; left -= 4) {
                    const uint32_t word = aidge_cortexm_load(source);
                    source += 4;
                    target[0] = aidge_cortexm_even_bytes(word);
                    target[span] = aidge_cortexm_odd_bytes(word);
                    target += 2 * span;
                }
            }
        }
    }
}

#if !AIDGE_CORTEXM_ASSEMBLY
/* One row of pairs from planes: the C version of the generated functions of this name. */
static void aidge_cortexm_planes_row(const uint32_t *words, int8_t *output, const int32_t *stream, const aidge_cortexm_run *run,
                                     const aidge_cortexm_taps *taps, int32_t packed, int32_t shift)
{
    const int32_t *const end = stream + run->stream_bytes / 4;
    int32_t pair;
    for (pair = run->pairs; pair > 0; pair--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        if ((pair == 1) && (run->pairs > 1)) {
            words -= run->back_input / 4;
            output -= run->back_output;
        }
        while (group != end) {
            (void)aidge_cortexm_group(words, taps, group, output, stream, packed, shift);
            group = aidge_cortexm_group(words + run->second_input / 4, taps, group, output + run->second_output, stream, packed,
                                        shift);
        }
        words += run->input_step / 4;
        output += run->output_step;
    }
}
#endif
