/* SPDX-License-Identifier: MIT */
/* Handlers of the chip's interrupts, which follow the core's own in the vector table (boards/startup.c). */
#include "microphone.h"
#include "simulated/mps2.h"

extern void (*const interrupts[INTERRUPTS])(void);

__attribute__((section(".vectors.interrupts"), used)) void (*const interrupts[INTERRUPTS])(void) = {
    [TIMER_INTERRUPT] = simulated_dma,
    [AUDIO_INTERRUPT] = audio_interrupt,
};
