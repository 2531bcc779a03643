/* SPDX-License-Identifier: MIT */
/* With -icount QEMU leaves a block at an instruction that reads or writes a peripheral, executes this one alone and unseen, and
 * goes on with the rest as blocks of their own, which were counted already. An interrupt may come before the rest does. */
#ifndef AIDGE_QEMU_RESTS_H
#define AIDGE_QEMU_RESTS_H

#include <stdbool.h>
#include <stdint.h>

enum { MOST_LEFT = 16 };

static struct {
    uint64_t completed, before; /* blocks that reached their last instruction: now, and when the current one began */
    struct { uint32_t address, end; } left[MOST_LEFT]; /* the blocks that were left last */
    uint32_t count;
} rests;

/* A block [address, end) begins after another one. Returns whether it is a rest of a block that was left. */
static bool rests_begin(uint32_t address, uint32_t end, uint32_t from, uint32_t from_end)
{
    bool is_rest = false;
    if (rests.completed == rests.before && from_end != 0) {
        rests.count -= rests.count == MOST_LEFT; /* one whose rest never came, as after a fault */
        rests.left[rests.count].address = from;
        rests.left[rests.count++].end = from_end;
    }
    rests.before = rests.completed;
    for (uint32_t index = rests.count; index-- > 0;) {
        uint32_t left = rests.left[index].address, left_end = rests.left[index].end;
        is_rest |= left < address && end <= left_end;
        if (left == address || (left < address && end == left_end)) /* it is executed anew, or its last rest comes */
            rests.left[index] = rests.left[--rests.count];
    }
    return is_rest;
}

#endif
