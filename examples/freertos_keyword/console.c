/* SPDX-License-Identifier: MIT */
/* CMSDK UART (Arm, "Cortex-M System Design Kit", APB UART). */
#include "console.h"

#define REGISTER(offset) (*(volatile uint32_t *)(0x40004000u + (offset)))
#define DATA REGISTER(0x00u)
#define STATE REGISTER(0x04u)
#define CONTROL REGISTER(0x08u)
#define DIVIDER REGISTER(0x10u)

enum { FULL = 1, TRANSMIT = 1, BAUD = 115200, CLOCK = 25000000, DIGITS = 10 };

void console_start(void)
{
    DIVIDER = (uint32_t)(CLOCK / BAUD);
    CONTROL = (uint32_t)TRANSMIT;
}

static void send(uint8_t byte)
{
    while ((STATE & (uint32_t)FULL) != 0u) {
    }
    DATA = (uint32_t)byte;
}

void console_text(const char *text)
{
    for (; *text != '\0'; text++) {
        send((uint8_t)*text);
    }
}

void console_bytes(const uint8_t *bytes, uint32_t count)
{
    for (; count > 0u; count--) {
        send(*bytes++);
    }
}

static void number(uint32_t value, uint32_t base, int least)
{
    char text[DIGITS + 1];
    int at = DIGITS;

    text[at] = '\0';
    do {
        text[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0u || DIGITS - at < least);
    console_text(&text[at]);
}

void console_number(uint32_t value)
{
    number(value, 10u, 1);
}

void console_hexadecimal(uint32_t value)
{
    number(value, 16u, 8);
}
