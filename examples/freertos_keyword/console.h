/* SPDX-License-Identifier: MIT */
/* A line to the service engineer: the first UART. One task writes, after the start of the program. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

void console_start(void);
void console_text(const char *text);
void console_bytes(const uint8_t *bytes, uint32_t count);
void console_number(uint32_t value);
void console_hexadecimal(uint32_t value);

#endif
