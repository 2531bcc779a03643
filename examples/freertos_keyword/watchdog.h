/* SPDX-License-Identifier: MIT */
/* The watchdog is fed only when every stage has advanced since it was fed last: one stage that hangs is enough for a reset. */
#ifndef WATCHDOG_H
#define WATCHDOG_H

#include <stdint.h>

enum stage { AUDIO = 1, LISTEN = 2, DECIDE = 4, ACT = 8, RECEIVE = 16, ALL_STAGES = 31 };

void watchdog_start(void);

/* This stage has done its work once more; from tasks and from interrupts that may call the kernel. */
void watchdog_advanced(enum stage stage);

/* The watchdog's interrupt. Returns the stages that hang, or 0 the first time: then all of them get as much time again. */
uint32_t watchdog_expired(void);

#endif
