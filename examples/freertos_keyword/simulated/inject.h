/* SPDX-License-Identifier: MIT */
/* Faults on purpose, at places that the product names; without FAULTS the calls are nothing. */
#ifndef INJECT_H
#define INJECT_H

#include <stdint.h>

enum place { AT_STEP, AT_ACT, AT_RECEIVE };

/* The offer of a sender, for radio.c. */
enum offer { NOTHING, WHOLE, ONE_BIT_WRONG, CUT_OFF, WRONG_ANSWERS };

struct injected {
    uint32_t magic, random, next, kind, is_armed, offer, version, silence;
};

extern struct injected injected;

uint32_t inject_random(uint32_t below);

#if FAULTS
void inject_start(void);
void inject(enum place place);
/* Whether the microphone delivers nothing for a while. */
int inject_silence(void);
#else
static inline void inject_start(void)
{
}
static inline void inject(enum place place)
{
    (void)place;
}
static inline int inject_silence(void)
{
    return 0;
}
#endif

/* Ends the emulation some time after the last frame, and prints the statistics. */
void inject_end(uint32_t frame);

#endif
