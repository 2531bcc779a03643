/* SPDX-License-Identifier: 0BSD */
#include "window.h"

/* Copy input rows into the buffer, with pads at both ends. */
AIDGE_CORTEXM_UNUSED /* layers of groups have both headers */
static void aidge_cortexm_load_lines(aidge_cortexm_rows *rows, const aidge_cortexm_window *shape, int32_t top)
{
    const int32_t channels = shape->channels;
    const int32_t begin = rows->first < 0 ? -rows->first : 0;
    const int32_t room = shape->in_width - rows->first;
    const int32_t end = room < shape->span ? room : shape->span;
    int32_t row = aidge_cortexm_move_rows(rows, shape, top);
    for (; row < shape->rows; row++) {
        uint32_t *words = rows->words + row * shape->row_words;
        const int32_t y = top + row;
        if ((y < 0) || (y >= shape->in_height)) {
            aidge_cortexm_fill(words, rows->fill, shape->row_words);
        } else {
            const int8_t *source = rows->input + (y * shape->in_width + rows->first + begin) * channels;
            int8_t *target = (int8_t *)words + begin * channels;
            int32_t count = (end - begin) * channels;
            if ((((uintptr_t)source | (uintptr_t)target) & 3u) == 0u) {
                const int32_t whole = count / 4;
                aidge_cortexm_move_words((uint32_t *)(void *)target, (const uint32_t *)(const void *)source, whole);
                source += 4 * whole;
                target += 4 * whole;
                count -= 4 * whole;
            }
            for (; count >= 8; count -= 8) {
                const uint32_t first = aidge_cortexm_load(source);
                const uint32_t second = aidge_cortexm_load(source + 4);
                aidge_cortexm_store(target, first);
                aidge_cortexm_store(target + 4, second);
                source += 8;
                target += 8;
            }
            for (; count > 0; count--) {
                *target++ = *source++;
            }
        }
    }
}

#if !AIDGE_CORTEXM_FPU
/* One row of pairs from lines: the C version of the generated functions of this name. `gather` [taps]: the byte of each tap
 * relative to the pixel, or -1 for none. */
AIDGE_CORTEXM_C void aidge_cortexm_lines_row(const uint32_t *words, int8_t *output, const int32_t *stream,
                                             const aidge_cortexm_run *run, uint32_t *column, const int16_t *gather,
                                             int32_t taps, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const end = stream + run->stream_bytes / 4;
    const int8_t *source = (const int8_t *)words;
    const int32_t tap = 0;
    const aidge_cortexm_taps order = {taps / 2, 2, 1, &tap};
    int32_t pair, i;
    for (pair = run->pairs; pair > 0; pair--) {
        const int32_t *group = stream + AIDGE_CORTEXM_HEAD_WORDS;
        const int8_t *second;
        if ((pair == 1) && (run->pairs > 1)) {
            source -= run->back_input;
            output -= run->back_output;
        }
        second = source + run->second_input;
        for (i = 0; i < taps; i += 2) {
            const int32_t odd = gather[i + 1];
            column[i] = aidge_cortexm_pair(source[gather[i]], odd < 0 ? 0 : source[odd]);
            column[i + 1] = aidge_cortexm_pair(second[gather[i]], odd < 0 ? 0 : second[odd]);
        }
        while (group != end) {
            group = aidge_cortexm_two_groups(column, 1, &order, group, output, run->second_output, stream, packed, shift, form);
            output += form < 0 ? 0 : 4;
        }
        source += run->input_step;
        output += run->output_step;
    }
}
#endif
