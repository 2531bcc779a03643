/* SPDX-License-Identifier: MIT */
/* SIMULATED: memory of the machine that no reset clears. Bits are cleared by programming, and set only by erasing. */
#include "flash.h"

void flash_erase(uint8_t *slot, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at++) {
        slot[at] = 0xFFu;
    }
}

void flash_program(uint8_t *to, const void *from, uint32_t bytes)
{
    const uint8_t *const wanted = from;

    for (uint32_t at = 0; at < bytes; at++) {
        to[at] &= wanted[at];
    }
}
