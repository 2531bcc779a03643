/* SPDX-License-Identifier: MIT */
#ifndef SLEEP_H
#define SLEEP_H

#include <stdint.h>

/* The kernel calls this with interrupts masked and the tick stopped. Returns when an interrupt is pending; sets `ticks` to 0, so
 * that the kernel does not wait once more. */
void sleep_until_interrupt(uint32_t *ticks);

#endif
