/* SPDX-License-Identifier: 0BSD */
/* Start-up of RISC-V boards that execute from the first address of their code: stack, traps, memories, main. Interrupts stay
 * off: firmware that uses them brings its own start-up. */
#include <stdint.h>

#include "memories.h"
#include "semihosting.h"

enum { EXIT_FAULT = 99 };

int main(void);
void Reset_Handler(void);
void Fault_Handler(void);
void aidge_start(void);
void board_init(void);

/* Clocks, watchdog and the like, before main. A firmware defines its own; emulators skip it. */
__attribute__((weak, noinline)) void board_init(void)
{
    __asm__ volatile("");
}

__attribute__((noinline, used)) void aidge_start(void)
{
    aidge_switch_on_clocks();
    aidge_fill_memories();
    board_init();
    aidge_construct();
    semihosting_exit(main());
}

/* The emulator reads this line. An exception of an access (RISC-V Privileged Architecture, mcause 4 to 7) says what it accessed. */
__attribute__((noreturn, used)) static void report_fault(uint32_t cause, uint32_t pc, uint32_t address)
{
    semihosting_write0("aidge-fault pc ");
    semihosting_write_hexadecimal(pc);
    semihosting_write0(" status ");
    semihosting_write_hexadecimal(cause);
    if (cause >= 4u && cause <= 7u) {
        semihosting_write0(" accessing ");
        semihosting_write_hexadecimal(address);
    }
    semihosting_write0("\n");
    semihosting_exit(EXIT_FAULT);
}

/* A fault may be one of the stack: its handler begins a new one. The address of a handler is a multiple of 4. */
__attribute__((naked, aligned(4))) void Fault_Handler(void)
{
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\t"
                     "la sp, __stack_top\n\tcsrr a0, mcause\n\tcsrr a1, mepc\n\tcsrr a2, mtval\n\ttail report_fault\n\t.option pop");
}

/* The first code of the board's memory, by its section. */
__attribute__((naked, section(".vectors"), used)) void Reset_Handler(void)
{
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\t"
                     "la sp, __stack_top\n\tla t0, Fault_Handler\n\tcsrw mtvec, t0\n\t"
#if defined(__riscv_flen)
                     "li t0, 0x2000\n\tcsrs mstatus, t0\n\t" /* FS = initial: the FPU is on */
#endif
#if defined(__riscv_vector)
                     "li t0, 0x200\n\tcsrs mstatus, t0\n\t" /* VS = initial: the vectors are on */
#endif
                     "call aidge_start\n\t.option pop");
}
