/* SPDX-License-Identifier: MIT */
#include "slots.h"

#include <stdatomic.h>

#include "faults.h"
#include "flash.h"
#include "kept.h"
#include "keyword.h"
#include "self_test.h"

enum { VERSION = 3 }; /* the word of a block that holds its version (docs/c-api.md) */

/* The last words of a slot. Flash is erased to ones, and each word is cleared once. */
struct marks { uint32_t is_untried, is_unconfirmed; };

extern uint8_t SLOT_A[], SLOT_B[]; /* the linker's */

static const uint8_t *in_use;
static uint32_t frames;
static _Atomic(const uint8_t *) offered;

static const struct marks *marks_of(const uint8_t *slot)
{
    return (const struct marks *)(const void *)(slot + SLOT_BLOCK);
}

static void clear(const uint32_t *word)
{
    const uint32_t zero = 0u;

    flash_program((uint8_t *)(uintptr_t)word, &zero, sizeof zero);
}

static int is_slot(const uint8_t *weights)
{
    return weights == SLOT_A || weights == SLOT_B;
}

static int is_on_trial(const uint8_t *weights)
{
    return is_slot(weights) && marks_of(weights)->is_unconfirmed != 0u;
}

/* The first word of a block is its magic number: without it the block is none. */
static void spoil(const uint8_t *slot)
{
    clear((const uint32_t *)(const void *)slot);
}

static int use(const uint8_t *weights, uint32_t bytes)
{
    if (is_on_trial(weights)) {
        clear(&marks_of(weights)->is_untried);
    }
    if (keyword_bind(weights, bytes) != KEYWORD_OK) {
        return 0;
    }
    in_use = weights;
    frames = 0u;
    return 1;
}

int slots_start(void)
{
    const uint8_t *found = keyword_newer(SLOT_A, SLOT_B, SLOT_BLOCK);

    while (found && is_on_trial(found) && marks_of(found)->is_untried == 0u) {
        spoil(found); /* the last run with them ended in a reset */
        found = keyword_newer(SLOT_A, SLOT_B, SLOT_BLOCK);
    }
    if (!(found && use(found, SLOT_BLOCK)) && !use(keyword_weights, keyword_weights_bytes)) {
        return 0;
    }
    if (!self_test_passes()) {
        slots_give_up((uint32_t)WEIGHTS_FAILED);
    }
    return 1;
}

const uint8_t *slots_in_use(void)
{
    return in_use;
}

uint32_t slots_version(void)
{
    return ((const uint32_t *)(const void *)in_use)[VERSION];
}

void slots_give_up(uint32_t reason)
{
    const uint32_t version = slots_version();

    if (is_slot(in_use)) {
        spoil(in_use);
    }
    faults_restart(reason, version);
}

void slots_went_well(void)
{
    if (is_on_trial(in_use) && ++frames == (uint32_t)SLOT_TRIAL) {
        clear(&marks_of(in_use)->is_unconfirmed);
    }
}

uint8_t *slots_spare(void)
{
    if (is_on_trial(in_use) || atomic_load(&offered)) {
        return 0;
    }
    return in_use == SLOT_A ? SLOT_B : SLOT_A;
}

int slots_offer(const uint8_t *slot)
{
    if (keyword_newer(slot, slot, SLOT_BLOCK) != slot || ((const uint32_t *)(const void *)slot)[VERSION] <= slots_version()) {
        spoil(slot);
        kept.counts[REFUSED]++;
        return 0;
    }
    atomic_store(&offered, slot);
    return 1;
}

int slots_take_new(void)
{
    const uint8_t *const slot = atomic_exchange(&offered, (const uint8_t *)0);

    if (!slot || !use(slot, SLOT_BLOCK)) {
        return 0;
    }
    if (!self_test_passes()) {
        slots_give_up((uint32_t)WEIGHTS_FAILED);
    }
    kept.counts[ADOPTED]++;
    return 1;
}
