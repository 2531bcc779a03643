/* SPDX-License-Identifier: MIT */
/* From the label of each frame to a word that was said. No other file, so a test on the host runs the same code. */
#ifndef DECIDE_H
#define DECIDE_H

#include <stdint.h>

/* A word counts when AGREE of the LATEST frames have its label; SETTLE frames pass first, until the model has heard as long as
 * it listens back. Label 0 is noise. */
enum { DECIDE_LATEST = 8, DECIDE_AGREE = 6, DECIDE_SETTLE = 26, DECIDE_LABELS = 5 };

/* The stream begins again: nothing was heard. */
void decide_reset(void);

/* Takes the label of the next frame. Returns a word once, at the frame that makes it certain, and 0 otherwise. */
uint32_t decide(uint32_t label);

#endif
