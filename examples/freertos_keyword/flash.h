/* SPDX-License-Identifier: MIT */
/* The driver of the flash that holds the slots. */
#ifndef FLASH_H
#define FLASH_H

#include <stdint.h>

void flash_erase(uint8_t *slot, uint32_t bytes);

/* Clears the bits that are 0 in `from`; as in flash, no bit becomes 1. */
void flash_program(uint8_t *to, const void *from, uint32_t bytes);

#endif
