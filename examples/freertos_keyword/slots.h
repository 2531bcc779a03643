/* SPDX-License-Identifier: MIT */
/* Two slots of flash for weights that arrive in the field; the weights that the firmware was built with are the last resort. A new
 * block is used on trial: if the program does not run TRIAL frames with it, the next start takes the block before it. */
#ifndef SLOTS_H
#define SLOTS_H

#include <stdint.h>

enum { SLOT_BYTES = 8192, SLOT_MARKS = 8, SLOT_BLOCK = SLOT_BYTES - SLOT_MARKS, SLOT_TRIAL = 100 };

/* Uses the newest weights that are whole and have not failed; returns 0 where none are, not even the built-in ones. */
int slots_start(void);

/* The weights in use. */
const uint8_t *slots_in_use(void);

/* Their version; 0: the weights that were built in. */
uint32_t slots_version(void);

/* Gives up the weights in use for good, and starts again with others. `reason` is an `enum reason` of kept.h. */
void slots_give_up(uint32_t reason) __attribute__((noreturn));

/* A frame went well with the weights in use: after SLOT_TRIAL frames they are confirmed. */
void slots_went_well(void);

/* The slot for a block that arrives; null while weights are on trial, because the other slot is then the way back. */
uint8_t *slots_spare(void);

/* The block in the spare slot is complete; returns 0 where it is not fit for use. */
int slots_offer(const uint8_t *slot);

/* Between two inferences: takes an offered block into use; returns 1 where it did. */
int slots_take_new(void);

#endif
