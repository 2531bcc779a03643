/* SPDX-License-Identifier: MIT */
/* Sound from the microphone: DMA fills two halves of a buffer in turn, and nobody copies samples. */
#ifndef AUDIO_H
#define AUDIO_H

#include <stdint.h>

/* The task that calls this waits for frames from now on. Frames are numbered from 1, and numbers continue after a reset. */
void audio_start(void);

/* Waits for a frame that nobody has listened to, and returns the number of the newest one. */
uint32_t audio_wait(void);

/* The samples of a frame. They hold until the next but one frame begins: see audio_is_whole. */
const int16_t *audio_samples(uint32_t frame);

/* A digest of the samples of a frame: which sound a decision heard. */
uint32_t audio_digest(uint32_t frame);

/* Whether the DMA has not begun to write into the samples of this frame again. */
int audio_is_whole(uint32_t frame);

#endif
