/* SPDX-License-Identifier: MIT */
/* Sleep while every task waits. A product switches clocks off here. */
#include "sleep.h"

#include "kept.h"
#include "simulated/mps2.h"

#define ICSR REGISTER_AT(0xE000ED04u)

enum { PENDING = 0x1FF << 12, SPIN = 500 };

/* One instruction on a chip. QEMU 7.2 in deterministic time sleeps through one timer too many (README.md): there the core counts
 * instead, and the time is the same. */
static void wait_for_interrupt(void)
{
#if EMULATED
    for (int turn = 0; turn < SPIN; turn++) {
        __asm__ volatile("nop");
    }
#else
    __asm__ volatile("dsb\n\twfi" : : : "memory");
#endif
}

void sleep_until_interrupt(uint32_t *ticks)
{
    const uint32_t since = COUNTER;

    while ((ICSR & (uint32_t)PENDING) == 0u) {
        wait_for_interrupt();
    }
    kept.asleep += (COUNTER - since) / COUNTS_OF_A_MICROSECOND;
    *ticks = 0u;
}
