/* SPDX-License-Identifier: 0BSD */
/* A serial port that only sends, 8 data bits, no parity, one stop bit: bench images print on it. A driver is a file that defines
 * both functions. The build defines SERIAL_BASE, SERIAL_CLOCK_HZ and SERIAL_BAUD, from the board's file ([serial]). */
#ifndef AIDGE_SERIAL_H
#define AIDGE_SERIAL_H

#include <stdint.h>

#define SERIAL_REGISTER(offset) (*(volatile uint32_t *)(SERIAL_BASE + (offset)))

/* Switches the port on. Its clock and its pin are ready. */
void serial_start(void);
/* Sends a byte, as soon as there is room for it. */
void serial_put(uint8_t byte);

#endif
