/* SPDX-License-Identifier: 0BSD */
/* Console, files and exit code of the development machine, while a debugger or an emulator is attached.
 * The same calls work in a program for the host. No libc, no heap, no printf.
 * Without a debugger the breakpoint of a call is a fault: keep these calls out of firmware for the field. */
#ifndef AIDGE_SEMIHOSTING_H
#define AIDGE_SEMIHOSTING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Modes of semihosting_open: fopen's "rb" and "wb". */
enum { SEMIHOSTING_READ = 1, SEMIHOSTING_WRITE = 5 };

/* Prints a zero-terminated text. */
void semihosting_write0(const char *text);
/* Prints a decimal number. */
void semihosting_write_integer(int32_t value);
/* Prints 8 hexadecimal digits. */
void semihosting_write_hexadecimal(uint32_t value);
/* Ends the program; `code` is what the process that runs the emulator sees. */
void semihosting_exit(int code) __attribute__((noreturn));
/* Fills `line` with "program argument argument"; returns 0, or -1 when it does not fit. */
int semihosting_command_line(char *line, uint32_t size);
/* Copies word `index` of the command line (0 is the program); returns its length, or -1 when there is none or no room. */
int semihosting_argument(int index, char *word, uint32_t size);
/* Returns a handle, or -1. */
int semihosting_open(const char *path, int mode);
/* Both return the number of bytes that were NOT transferred. */
uint32_t semihosting_read(int handle, void *data, uint32_t size);
uint32_t semihosting_write(int handle, const void *data, uint32_t size);
/* Length of an open file in bytes, or -1. */
int32_t semihosting_length(int handle);
int semihosting_close(int handle);

#ifdef __cplusplus
}
#endif
#endif
