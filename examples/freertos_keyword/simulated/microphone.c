/* SPDX-License-Identifier: MIT */
/* SIMULATED: QEMU's machine has no microphone and no DMA. A timer of the highest priority writes a quarter of a half-buffer of a
 * recording every 5 ms, as a DMA does while tasks run, and pends the DMA's interrupt after each half. */
#include "microphone.h"

#include "inject.h"
#include "kept.h"
#include "mps2.h"
#include "sounds.h"

enum { QUARTERS = 4, QUARTER_COUNTS = CLOCK_HZ / 200, CLIP_FRAMES = 26, MORE_URGENT = 0x00, MAY_CALL_KERNEL = 0x40 };

static int16_t *to;
static uint32_t length, quarter, before;
static volatile uint32_t filled;

uint32_t microphone_halves(void)
{
    return filled;
}

void microphone_start(int16_t *halves, uint32_t samples)
{
    to = halves;
    length = samples;
    before = kept.frames;
    PRIORITY(TIMER_INTERRUPT) = MORE_URGENT;
    PRIORITY(AUDIO_INTERRUPT) = MAY_CALL_KERNEL;
    ENABLE = 1u << TIMER_INTERRUPT | 1u << AUDIO_INTERRUPT;
    TIMER_RELOAD = QUARTER_COUNTS - 1;
    TIMER_VALUE = QUARTER_COUNTS - 1;
    TIMER_CONTROL = TIMER_ON | TIMER_INTERRUPTS;
}

/* The recording: clips in an order that listener.py knows, too. */
static const int16_t *recorded(uint32_t frame)
{
    const uint32_t clip = ((frame / CLIP_FRAMES) * 2654435761u >> 16) % CLIPS;

    return &sounds[clip][frame % CLIP_FRAMES * length];
}

void simulated_dma(void)
{
    TIMER_CLEAR = 1u;
    if (inject_silence()) {
        return;
    }
    const uint32_t half = filled % 2u, size = length / QUARTERS;
    const int16_t *const from = recorded(before + filled) + quarter * size;

    for (uint32_t at = 0; at < size; at++) {
        to[half * length + quarter * size + at] = (int16_t)(from[at] * LOUDNESS / 100); /* below 100: dust on the microphone */
    }
    quarter = (quarter + 1u) % QUARTERS;
    if (quarter == 0u) {
        filled++;
        inject_end(before + filled);
        PEND = 1u << AUDIO_INTERRUPT;
    }
}
