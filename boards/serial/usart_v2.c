/* SPDX-License-Identifier: 0BSD */
/* USART of STM32F0, F3, F7, G0, G4, H7, L0, L4, L5, U5 and WB: ST RM0444, chapter USART: registers CR1, BRR, ISR, TDR, and the
 * divider at 16 samples a bit. */
#include "serial.h"

enum { CR1 = 0x00, BRR = 0x0C, ISR = 0x1C, TDR = 0x28 };
#define TXE (1u << 7)
#define UE (1u << 0)
#define TE (1u << 3)
/* A low-power UART divides 256 times its clock (lpuart.c). */
#if !defined(SERIAL_CLOCK_TIMES)
#define SERIAL_CLOCK_TIMES 1u
#endif

void serial_start(void)
{
    SERIAL_REGISTER(BRR) = (uint32_t)(((uint64_t)SERIAL_CLOCK_TIMES * SERIAL_CLOCK_HZ + SERIAL_BAUD / 2u) / SERIAL_BAUD);
    SERIAL_REGISTER(CR1) = UE | TE;
}

void serial_put(uint8_t byte)
{
    while ((SERIAL_REGISTER(ISR) & TXE) == 0u) {
    }
    SERIAL_REGISTER(TDR) = byte;
}
