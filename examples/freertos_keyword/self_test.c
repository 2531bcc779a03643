/* SPDX-License-Identifier: MIT */
#include "self_test.h"

#include "keyword.h"
#include "known.h"

int self_test_passes(void)
{
    int64_t label = -1;

    keyword_reset();
    for (uint32_t frame = 0; frame < KNOWN_FRAMES; frame++) {
        if (keyword_run(&known_sound[frame * KEYWORD_INPUT_SIZE], &label) != KEYWORD_OK) {
            return 0;
        }
    }
    keyword_reset();
    keyword_monitor_reset(); /* the known word is no sound of this place */
    return label == KNOWN_LABEL;
}
