/* SPDX-License-Identifier: 0BSD */
/* LPUART of STM32G0, G4, H7, L0, L4, L5, U5 and WB: the registers of a USART, and a divider of 256 times the clock (ST RM0432,
 * chapter LPUART, "baud rate generation"). */
#define SERIAL_CLOCK_TIMES 256u
#include "usart_v2.c"
