/* SPDX-License-Identifier: 0BSD */
/* Arm PrimeCell UART (PL011): Technical Reference Manual DDI 0183, section 3.3. The divider has six binary places. */
#include "serial.h"

enum { DR = 0x00, FR = 0x18, IBRD = 0x24, FBRD = 0x28, LCR_H = 0x2C, CR = 0x30 };
#define TXFF (1u << 5)
#define WORDS_OF_8_BITS (3u << 5)
#define FIFOS (1u << 4)
#define UARTEN (1u << 0)
#define TXE (1u << 8)
#define DIVIDER ((uint32_t)((4ull * SERIAL_CLOCK_HZ + SERIAL_BAUD / 2u) / SERIAL_BAUD)) /* 64 * clock / (16 * baud) */

void serial_start(void)
{
    SERIAL_REGISTER(IBRD) = DIVIDER >> 6;
    SERIAL_REGISTER(FBRD) = DIVIDER & 63u;
    SERIAL_REGISTER(LCR_H) = WORDS_OF_8_BITS | FIFOS; /* the divider takes effect here */
    SERIAL_REGISTER(CR) = UARTEN | TXE;
}

void serial_put(uint8_t byte)
{
    while ((SERIAL_REGISTER(FR) & TXFF) != 0u) {
    }
    SERIAL_REGISTER(DR) = byte;
}
