/* SPDX-License-Identifier: 0BSD */
/* UART of nRF51 and nRF52, without DMA: nRF51 Series Reference Manual, chapter 29 (UART), and nRF52840 Product Specification,
 * section 6.33. The divider counts sixteenths of a microsecond, whatever the core's clock is: its table is baud * 2^32 / 16 MHz,
 * rounded to a multiple of 0x1000. The steps of the board's file name the pin (PSELTXD). */
#include "serial.h"

enum { TASKS_STARTTX = 0x008, EVENTS_TXDRDY = 0x11C, ENABLE = 0x500, TXD = 0x51C, BAUDRATE = 0x524 };
#define ENABLED 4u
#define DIVIDER ((((uint64_t)SERIAL_BAUD << 32) / 16000000u + 0x800u) & 0xFFFFF000u)

void serial_start(void)
{
    SERIAL_REGISTER(BAUDRATE) = (uint32_t)DIVIDER;
    SERIAL_REGISTER(ENABLE) = ENABLED;
    SERIAL_REGISTER(TASKS_STARTTX) = 1u;
}

void serial_put(uint8_t byte)
{
    SERIAL_REGISTER(EVENTS_TXDRDY) = 0u;
    SERIAL_REGISTER(TXD) = byte;
    while (SERIAL_REGISTER(EVENTS_TXDRDY) == 0u) {
    }
}
