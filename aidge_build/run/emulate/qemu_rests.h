/* SPDX-License-Identifier: MIT */
/* A block counts when it begins. With -icount QEMU leaves a block at an instruction that reads or writes a peripheral, executes
 * this one alone and unseen, and goes on with the rest as a block of its own: at once, after an interrupt, or never. */
#ifndef AIDGE_QEMU_RESTS_H
#define AIDGE_QEMU_RESTS_H

#include "counting.h"

static struct {
    uint64_t executed, before; /* instructions: now, and when the current block began */
} rests;

/* Another block begins: takes back the instructions that the current one left, and returns how many. */
static uint32_t rests_take_back(struct counting *counting, uint32_t instructions)
{
    uint32_t left = instructions - (uint32_t)(rests.executed - rests.before);
    rests.before = rests.executed;
    counting->total -= left;
    if (counting->stepping)
        counting->step_instructions -= left;
    if (!counting->running)
        return left;
    counting->inside_run -= left;
    if (counting->current != NO_LAYER)
        counting->layers[counting->current].instructions -= left;
    return left;
}

#endif
