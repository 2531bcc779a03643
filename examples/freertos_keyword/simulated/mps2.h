/* SPDX-License-Identifier: MIT */
/* The part of the machine that plays the world (Arm application note AN386, CMSDK). */
#ifndef MPS2_H
#define MPS2_H

#include <stdint.h>

#define REGISTER_AT(address) (*(volatile uint32_t *)(address))
#define TIMER_CONTROL REGISTER_AT(0x40000000u)
#define TIMER_VALUE REGISTER_AT(0x40000004u)
#define TIMER_RELOAD REGISTER_AT(0x40000008u)
#define TIMER_CLEAR REGISTER_AT(0x4000000Cu)
#define COUNTER REGISTER_AT(0x40028018u) /* counts up with the clock */
#define ENABLE REGISTER_AT(0xE000E100u)
#define PEND REGISTER_AT(0xE000E200u)
#define PRIORITY(interrupt) (*(volatile uint8_t *)(0xE000E400u + (interrupt)))

enum { CLOCK_HZ = 25000000, COUNTS_OF_A_MICROSECOND = 25, TIMER_ON = 1, TIMER_INTERRUPTS = 8 };
/* Timer 0, and a number that no peripheral of the machine has: the interrupt of the DMA. */
enum { TIMER_INTERRUPT = 8, AUDIO_INTERRUPT = 31, INTERRUPTS = 32 };

void simulated_dma(void);

#endif
