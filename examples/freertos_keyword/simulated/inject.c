/* SPDX-License-Identifier: MIT */
/* SIMULATED: a fault every 40 to 70 frames, in an order that the seed FAULTS decides. The development machine prints each fault, so
 * that listener.py can compare what the product said about it. */
#include "inject.h"

#include "console.h"
#include "harm.h"
#include "kept.h"
#include "semihosting.h"
#include "slots.h"

enum { MAGIC = 0x1A7EC7ED, AFTERWARDS = 25, LEAST_FRAMES = 40, MORE_FRAMES = 31 };

struct injected injected __attribute__((section(".noinit.injected")));

uint32_t inject_random(uint32_t below)
{
    injected.random ^= injected.random << 13;
    injected.random ^= injected.random >> 17;
    injected.random ^= injected.random << 5;
    return injected.random % below;
}

#if FAULTS
static const struct { const char *name; enum place place; } kinds[KINDS] = {
    {"slow listener", AT_STEP}, {"interrupts masked", AT_STEP}, {"microphone late", AT_RECEIVE}, {"queue full", AT_ACT},
    {"listen stuck", AT_STEP}, {"act stuck", AT_ACT}, {"receive stuck", AT_RECEIVE}, {"microphone dead", AT_RECEIVE},
    {"fault in listen", AT_STEP}, {"fault in act", AT_ACT}, {"assertion in act", AT_ACT}, {"stack of receive", AT_RECEIVE},
    {"bit of weights", AT_STEP}, {"bit of weights at start", AT_RECEIVE}, {"update", AT_RECEIVE}, {"update, listen stuck", AT_STEP},
    {"update damaged", AT_RECEIVE}, {"update cut off", AT_RECEIVE}, {"update with wrong answers", AT_RECEIVE},
    {"word after the arena", AT_STEP},
};

static void next_fault(void)
{
    injected.next = kept.frames + LEAST_FRAMES + inject_random(MORE_FRAMES);
    injected.kind = inject_random(KINDS);
    injected.is_armed = 0u;
}

void inject_start(void)
{
    if (injected.magic != (uint32_t)MAGIC) {
        injected = (struct injected){.magic = MAGIC, .random = FAULTS * 2654435761u};
        next_fault();
    }
    injected.is_armed = 0u; /* a reset forgets what was offered */
    injected.silence = 0u;
    injected.offer = (uint32_t)NOTHING;
}

/* One line of the development machine's console: "fault 1234 act stuck". */
static void tell(const char *name)
{
    char line[48], *at = &line[sizeof line - 1];
    uint32_t value = kept.frames;
    *at = '\0';
    *--at = ' ';
    do {
        *--at = (char)('0' + value % 10u);
        value /= 10u;
    } while (value != 0u);
    semihosting_write0("fault ");
    semihosting_write0(at);
    semihosting_write0(name);
    semihosting_write0("\n");
}

void inject(enum place place)
{
    const uint32_t kind = injected.kind;

    if (kept.frames < injected.next || kept.frames >= FRAMES || kinds[kind].place != place) {
        return;
    }
    if ((kind == FLIP || kind == FLIP_AT_START) && slots_version() == 0u) {
        injected.kind = UPDATE; /* no slot is in use yet */
        return;
    }
    if (kind == UPDATE_AND_STUCK) {
        if (!injected.is_armed) {
            injected.is_armed = 1u;
            injected.offer = (uint32_t)WHOLE;
            tell("update to be tried");
        }
        if (injected.offer != (uint32_t)NOTHING || slots_spare()) {
            return; /* until the new weights are on trial */
        }
    }
    tell(kinds[kind].name);
    next_fault();
    harm((enum kind)kind);
}

int inject_silence(void)
{
    if (injected.silence == 0u) {
        return 0;
    }
    injected.silence--;
    return 1;
}
#endif

void inject_end(uint32_t frame)
{
    static const char *const names[COUNTS] = {"heard", "missed", "late", "queue full", "withheld", "acted", "refused", "adopted"};

    if (frame < FRAMES + AFTERWARDS) {
        return;
    }
    for (uint32_t at = 0; at < (uint32_t)COUNTS; at++) {
        console_text(names[at]);
        console_text(": ");
        console_number(kept.counts[at]);
        console_text("\n");
    }
    console_text("asleep ms: ");
    console_number(kept.asleep / 1000u);
    console_text("\nstarts: ");
    console_number(kept.starts);
    console_text("\n");
    semihosting_exit(0);
}
