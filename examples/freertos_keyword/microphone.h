/* SPDX-License-Identifier: MIT */
/* The driver of the microphone and its DMA, which fills two halves of a buffer in turn. */
#ifndef MICROPHONE_H
#define MICROPHONE_H

#include <stdint.h>

/* Two halves of `samples` each, one after the other. After each half the DMA raises audio_interrupt. */
void microphone_start(int16_t *halves, uint32_t samples);

/* The halves that the DMA has filled since microphone_start. */
uint32_t microphone_halves(void);

/* audio.c */
void audio_interrupt(void);

#endif
