/* SPDX-License-Identifier: 0BSD */
/* Arm semihosting (Arm, "Semihosting for AArch32 and AArch64") by BKPT 0xAB, and its like on RISC-V (RISC-V International,
 * "RISC-V Semihosting"): the same calls, by an EBREAK between two instructions that do nothing else. */
#include "semihosting_text.h"

enum {
    SYS_OPEN = 0x01, SYS_CLOSE = 0x02, SYS_WRITE0 = 0x04, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_FLEN = 0x0C,
    SYS_GET_CMDLINE = 0x15, SYS_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026
};

#if defined(__riscv)
/* Debuggers read the three instructions, so they are of 32 bits each and lie in one page. */
__attribute__((noinline)) static int call(int operation, const void *block)
{
    register int a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = block;
    __asm__ volatile(".option push\n\t.option norvc\n\t.balign 16\n\t"
                     "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t.option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
    return a0;
}
#else
static int call(int operation, const void *block)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
#endif

static uint32_t length_of(const char *text)
{
    uint32_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    return length;
}

void semihosting_write0(const char *text)
{
    (void)call(SYS_WRITE0, text);
}

void semihosting_exit(int code)
{
    uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)code};
    for (;;) {
        (void)call(SYS_EXIT_EXTENDED, block);
    }
}

int semihosting_command_line(char *line, uint32_t size)
{
    uint32_t block[2] = {(uint32_t)line, size};
    return call(SYS_GET_CMDLINE, block);
}

int semihosting_open(const char *path, int mode)
{
    uint32_t block[3] = {(uint32_t)path, (uint32_t)mode, length_of(path)};
    return call(SYS_OPEN, block);
}

uint32_t semihosting_read(int handle, void *data, uint32_t size)
{
    uint32_t block[3] = {(uint32_t)handle, (uint32_t)data, size};
    return (uint32_t)call(SYS_READ, block);
}

uint32_t semihosting_write(int handle, const void *data, uint32_t size)
{
    uint32_t block[3] = {(uint32_t)handle, (uint32_t)data, size};
    return (uint32_t)call(SYS_WRITE, block);
}

int32_t semihosting_length(int handle)
{
    uint32_t block[1] = {(uint32_t)handle};
    return call(SYS_FLEN, block);
}

int semihosting_close(int handle)
{
    uint32_t block[1] = {(uint32_t)handle};
    return call(SYS_CLOSE, block);
}
