/* SPDX-License-Identifier: 0BSD */
#include "target.h"

/* Blocks of 8 words, forwards. */
#if AIDGE_CORTEXM_ASSEMBLY
AIDGE_KIT_NAKED void aidge_cortexm_move_blocks(AIDGE_KIT_PASSED uint32_t *target, AIDGE_KIT_PASSED const uint32_t *source,
                                                   AIDGE_KIT_PASSED int32_t blocks)
{
    __asm__(
        ".syntax unified\n"
        "    push {r4-r10}\n"
        "1:\n"
        "    ldm r1!, {r3-r10}\n"
        "    stm r0!, {r3-r10}\n"
        "    subs r2, r2, #1\n"
        "    bne 1b\n"
        "    pop {r4-r10}\n"
        "    bx lr\n"
    );
}
#else
static void aidge_cortexm_move_blocks(uint32_t *target, const uint32_t *source, int32_t blocks)
{
    int32_t count;
    for (count = 8 * blocks; count > 0; count--) {
        *target++ = *source++;
    }
}
#endif

/* Words to a place before theirs, or that shares none with them. Not inlined: its callers have enough on the stack. */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_move_words(uint32_t *target, const uint32_t *source, int32_t count)
{
    const int32_t blocks = count / 8;
    if (blocks > 0) {
        aidge_cortexm_move_blocks(target, source, blocks);
        target += 8 * blocks;
        source += 8 * blocks;
    }
    for (count -= 8 * blocks; count > 0; count--) {
        *target++ = *source++;
    }
}
