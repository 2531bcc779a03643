/* SPDX-License-Identifier: MIT */
#include "act.h"

#include "FreeRTOS.h"
#include "console.h"
#include "faults.h"
#include "inject.h"
#include "kept.h"
#include "keyword.h"
#include "listen.h"
#include "slots.h"
#include "stacks.h"
#include "task.h"
#include "watchdog.h"

enum { PIECE = 256 };  /* bytes: 0.1 ms */
enum { COUNTED = 64 }; /* decisions, 1.3 s, between two dumps of the monitor; a product sends one an hour */

static StackType_t act_stack[ACT_WORDS];
static StaticTask_t task;

/* This product says what it heard; another one switches a relay. */
static void act_on(const struct decision *decision)
{
    const uint32_t parts[] = {decision->frame, decision->since, decision->version, decision->sound, decision->label,
                              decision->word};

    console_text("heard");
    for (uint32_t at = 0; at < sizeof parts / sizeof parts[0]; at++) {
        console_text(" ");
        console_number(parts[at]);
    }
    console_text("\n");
}

/* Checks all constants of the model, a piece at a time: `listen`, which may bind others, waits for no more than one piece. */
static void check_constants(void)
{
    int code = KEYWORD_MORE;

    while (code == KEYWORD_MORE) {
        vTaskSuspendAll();
        code = keyword_verify_constants(PIECE);
        if (code == KEYWORD_DAMAGED) {
            slots_give_up((uint32_t)WEIGHTS_DAMAGED);
        }
        (void)xTaskResumeAll();
    }
    if (code != KEYWORD_OK) {
        faults_restart((uint32_t)MEMORY_DAMAGED, (uint32_t)code);
    }
}

/* Writes the counters of the monitor into the log of the UART, where `aidge-build accuracy --field` finds them. */
static void tell_counters(void)
{
    static uint8_t dump[KEYWORD_MONITOR_BYTES];

    vTaskSuspendAll(); /* `listen` counts */
    (void)keyword_monitor(dump);
    keyword_monitor_reset();
    (void)xTaskResumeAll();
    console_bytes(dump, sizeof dump);
    console_text("\n");
}

/* No decision leaves before all constants were found right after its inference. */
static void act(void *unused)
{
    uint32_t told = 0u;

    (void)unused;
    for (;;) {
        struct decision decision;

        if (!listen_next(&decision)) {
            continue;
        }
        inject(AT_ACT);
        check_constants();
        if (decision.version != slots_version()) {
            kept.counts[WITHHELD]++; /* others are in use since */
            continue;
        }
        act_on(&decision);
        kept.counts[ACTED]++;
        slots_went_well();
        watchdog_advanced(ACT);
        if (++told % COUNTED == 0u) {
            tell_counters();
        }
    }
}

void act_start(void)
{
    (void)xTaskCreateStatic(act, "act", ACT_WORDS, 0, ACT_PRIORITY, act_stack, &task);
}
