/* SPDX-License-Identifier: 0BSD */
#include "sums/window.h"

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
