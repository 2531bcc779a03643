/* SPDX-License-Identifier: MIT */
#include "decide.h"

static uint8_t latest[DECIDE_LATEST];
static uint32_t heard, last;

void decide_reset(void)
{
    for (uint32_t at = 0; at < (uint32_t)DECIDE_LATEST; at++) {
        latest[at] = 0u;
    }
    heard = 0u;
    last = 0u;
}

uint32_t decide(uint32_t label)
{
    uint32_t votes[DECIDE_LABELS] = {0};
    uint32_t certain = 0u, is_certain = 0u, said = 0u;

    if (label >= (uint32_t)DECIDE_LABELS) {
        return 0u;
    }
    latest[heard % (uint32_t)DECIDE_LATEST] = (uint8_t)label;
    heard++;
    if (heard > (uint32_t)DECIDE_SETTLE) {
        for (uint32_t at = 0; at < (uint32_t)DECIDE_LATEST; at++) {
            votes[latest[at]]++;
        }
        for (uint32_t word = 0; word < (uint32_t)DECIDE_LABELS; word++) {
            if (votes[word] >= (uint32_t)DECIDE_AGREE) {
                certain = word;
                is_certain = 1u;
            }
        }
    }
    if (is_certain && certain != last) { /* noise, or another word, ends a word */
        last = certain;
        said = certain;
    }
    return said;
}
