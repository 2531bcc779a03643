/* SPDX-License-Identifier: MIT */
/* Two tasks: one hears sounds, 20 ms at a time, and says how many words were right; the other one receives new weights in
 * pieces of 256 bytes meanwhile, and puts them into use between two inferences. */
#include <stdint.h>
#include <string.h>

#include "keyword.h"
#include "semihosting.h"
#include "tasks.h"

#ifndef WEIGHTS_AT
#define WEIGHTS_AT 0 /* where they begin in a slot: behind the header of a signature, a multiple of 8 */
#endif

enum { SLOT_BYTES = 16384, PIECE = 256, HOP = KEYWORD_INPUT_SIZE, SAMPLES = 4160, STACK_WORDS = 256 };

/* In a product two ranges of flash, which are still there after a reset. */
typedef union { uint64_t alignment; uint8_t bytes[SLOT_BYTES]; } slot;
static slot slots[2];

static const void *in_use;
static uint32_t changes;
static uint64_t receiver_stack[STACK_WORDS / 2];

static int use(const void *weights, uint32_t bytes)
{
    if (keyword_bind(weights, bytes) != KEYWORD_OK) {
        return 0;
    }
    in_use = weights;
    return 1;
}

static const void *newest(void)
{
    return keyword_newer(slots[0].bytes + WEIGHTS_AT, slots[1].bytes + WEIGHTS_AT, SLOT_BYTES - WEIGHTS_AT);
}

/* Begins with the newest weights of the slots, or with those that the firmware came with. */
static int start(void)
{
    const void *const found = newest();

    return (found && use(found, SLOT_BYTES - WEIGHTS_AT)) || use(keyword_weights, keyword_weights_bytes);
}

/* Writes what arrives into the slot that is not in use. Here a file arrives, in a product what a radio or a cable brings. */
static void receive_into(slot *to, int link, uint32_t bytes)
{
    (void)memset(to->bytes, 0xFF, SLOT_BYTES); /* erased: half of a block is no block */
    for (uint32_t written = 0; written < bytes; written += PIECE) {
        const uint32_t size = bytes - written < PIECE ? bytes - written : PIECE;

        (void)semihosting_read(link, to->bytes + written, size);
        task_yield();
    }
}

/* The task that receives; a task never ends. */
static void receive(void)
{
    const int link = semihosting_open("update.bin", SEMIHOSTING_READ);
    const int32_t bytes = link < 0 ? 0 : semihosting_length(link);
    slot *const to = in_use == slots[0].bytes + WEIGHTS_AT ? &slots[1] : &slots[0];

    if (bytes > SLOT_BYTES) {
        semihosting_write0("new weights refused: longer than a slot\n");
    } else if (bytes > 0) {
        receive_into(to, link, (uint32_t)bytes);
        if (newest() == to->bytes + WEIGHTS_AT && use(to->bytes + WEIGHTS_AT, SLOT_BYTES - WEIGHTS_AT)) {
            changes++;
            semihosting_write0("new weights are in use\n");
        } else {
            semihosting_write0("new weights refused: the old ones go on\n");
        }
    } else {
        /* no new weights */
    }
    for (;;) {
        task_yield();
    }
}

/* Hears one sound of the file, as a microphone would deliver it; returns 1 when the label was right, -1 when there is none. */
static int hear(int sounds)
{
    static int16_t hop[HOP];
    int16_t wanted;
    int64_t label = 0;

    if (semihosting_read(sounds, &wanted, sizeof wanted) != 0u) {
        return -1;
    }
    keyword_reset(); /* another recording */
    for (int32_t sample = 0; sample + HOP <= SAMPLES; sample += HOP) {
        if (semihosting_read(sounds, hop, sizeof hop) != 0u || keyword_run(hop, &label) != KEYWORD_OK) {
            return -1;
        }
        task_yield();
    }
    return label == wanted;
}

/* Hears all sounds; returns how many were right. */
static int32_t hear_all(void)
{
    const int sounds = semihosting_open("sounds.pcm", SEMIHOSTING_READ);
    int32_t count = 0, right = 0;

    for (int one = hear(sounds); one >= 0; one = hear(sounds)) {
        count++;
        right += one;
    }
    (void)semihosting_close(sounds);
    semihosting_write_integer(right);
    semihosting_write0(" of ");
    semihosting_write_integer(count);
    semihosting_write0(" right\n");
    return count;
}

int main(void)
{
    uint32_t before;

    if (!start()) {
        return 1;
    }
    task_start(receive, (uint32_t *)(void *)receiver_stack, STACK_WORDS);
    do { /* once more when the weights were others from some sound on */
        before = changes;
        if (hear_all() == 0) {
            return 1;
        }
    } while (changes != before);
    return 0;
}
