/* SPDX-License-Identifier: 0BSD */
/* USART of STM32F1, F2, F4 and L1: ST RM0368, section 19.6 (SR, DR, BRR, CR1), and 19.3.4 for the divider at 16 samples a bit. */
#include "serial.h"

enum { SR = 0x00, DR = 0x04, BRR = 0x08, CR1 = 0x0C };
#define TXE (1u << 7)
#define UE (1u << 13)
#define TE (1u << 3)

void serial_start(void)
{
    SERIAL_REGISTER(BRR) = (SERIAL_CLOCK_HZ + SERIAL_BAUD / 2u) / SERIAL_BAUD;
    SERIAL_REGISTER(CR1) = UE | TE;
}

void serial_put(uint8_t byte)
{
    while ((SERIAL_REGISTER(SR) & TXE) == 0u) {
    }
    SERIAL_REGISTER(DR) = byte;
}
