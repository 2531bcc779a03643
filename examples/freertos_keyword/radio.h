/* SPDX-License-Identifier: MIT */
/* The driver of the radio that brings new weights. */
#ifndef RADIO_H
#define RADIO_H

#include <stdint.h>

/* The length of the block that somebody wants to send, or 0. */
uint32_t radio_offer(void);

/* Fetches the next bytes of this block. */
void radio_read(uint8_t *to, uint32_t bytes);

#endif
