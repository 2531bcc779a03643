/* SPDX-License-Identifier: MIT */
/* CMSDK watchdog (Arm, "Cortex-M System Design Kit", APB watchdog): a time-out is the NMI, a second one without an answer a reset. */
#include "watchdog.h"

#include <stdatomic.h>

#define REGISTER(offset) (*(volatile uint32_t *)(0x40008000u + (offset)))
#define LOAD REGISTER(0x000u)
#define CONTROL REGISTER(0x008u)
#define CLEAR REGISTER(0x00Cu)
#define LOCK REGISTER(0xC00u)

enum { UNLOCK = 0x1ACCE551, INTERRUPT_AND_RESET = 3, LIMIT = 25000000 / 1000 * 200 }; /* 200 ms, 10 frames */

static atomic_uint advanced, expired;

void watchdog_start(void)
{
    LOCK = (uint32_t)UNLOCK;
    LOAD = (uint32_t)LIMIT;
    CONTROL = (uint32_t)INTERRUPT_AND_RESET;
    LOCK = 0u;
}

static void feed(void)
{
    LOCK = (uint32_t)UNLOCK;
    CLEAR = 1u; /* loads the limit again */
    LOCK = 0u;
}

void watchdog_advanced(enum stage stage)
{
    if ((atomic_fetch_or(&advanced, (unsigned)stage) | (unsigned)stage) == (unsigned)ALL_STAGES) {
        atomic_store(&advanced, 0u);
        atomic_store(&expired, 0u);
        feed();
    }
}

uint32_t watchdog_expired(void)
{
    const uint32_t missing = (uint32_t)ALL_STAGES & ~atomic_load(&advanced);

    if (atomic_exchange(&expired, 1u) != 0u) {
        return missing;
    }
    atomic_store(&advanced, 0u); /* which stages advance from now on shows which one hangs */
    feed();
    return 0u;
}
