/* SPDX-License-Identifier: MIT */
/* With -icount QEMU leaves a block at an instruction that reads or writes a peripheral, executes this one alone and unseen, and
 * goes on with the rest as a block of its own, which was counted already. An interrupt may come before the rest does. */
#ifndef AIDGE_QEMU_RESTS_H
#define AIDGE_QEMU_RESTS_H

#include <stdbool.h>
#include <stdint.h>

enum { MOST_LEFT = 16 };

static struct {
    uint64_t completed, before; /* blocks that reached their last instruction: now, and when the current one began */
    struct { uint32_t address, end; } left[MOST_LEFT]; /* the blocks that were left; of an empty place, both are 0 */
    uint32_t next; /* the place of the next one */
} rests;

/* A block [address, end) begins after another one. Returns whether it is the rest of a block that was left. */
static bool rests_begin(uint32_t address, uint32_t end, uint32_t from, uint32_t from_end)
{
    bool is_rest = false;
    if (rests.completed == rests.before && from_end != 0) {
        rests.left[rests.next].address = from;
        rests.left[rests.next].end = from_end;
        rests.next = (rests.next + 1) % MOST_LEFT;
    }
    rests.before = rests.completed;
    for (uint32_t index = 0; index < MOST_LEFT; index++) {
        if (rests.left[index].end != end || rests.left[index].address > address)
            continue;
        is_rest |= rests.left[index].address < address;
        rests.left[index].address = rests.left[index].end = 0; /* its rest comes, or it is executed anew */
    }
    return is_rest;
}

#endif
