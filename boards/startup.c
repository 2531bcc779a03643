/* SPDX-License-Identifier: 0BSD */
/* Start-up of every Cortex-M board: vector table, FPU and MVE, memories, main. Interrupts of the chip have no entries here:
 * firmware that uses them brings its own start-up. */
#include <stdint.h>

#include "memories.h"
#include "semihosting.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CCR 0xE000ED14u
#define CFSR 0xE000ED28u
#define BFAR 0xE000ED38u
#define CPACR 0xE000ED88u
#define FPDSCR 0xE000EF3Cu

/* Default rounding and no flush to zero; with low-overhead loops LTPSIZE must stay 4 ("no tail predication pending"). */
#if defined(__ARM_FEATURE_MVE)
#define FPSCR_DEFAULT 0x00040000u
#else
#define FPSCR_DEFAULT 0u
#endif

enum { EXIT_FAULT = 99 };

extern uint32_t __stack_top[];

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

/* Runs with the FPU on: the compiler may use its registers from here on, but not in Reset_Handler. */
__attribute__((noinline, used)) void aidge_start(void)
{
#if defined(__ARM_FP)
    REGISTER(FPDSCR) = FPSCR_DEFAULT;
    __asm__ volatile("vmsr fpscr, %0" : : "r"(FPSCR_DEFAULT));
#endif
    aidge_switch_on_clocks();
    __asm__ volatile("dsb" : : : "memory");
    aidge_fill_memories();
    board_init();
    aidge_construct();
    semihosting_exit(main());
}

__attribute__((noreturn)) void Reset_Handler(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    REGISTER(CPACR) |= 0xFu << 20;
#endif
#if defined(__ARM_FEATURE_LOB)
    REGISTER(CCR) |= 1u << 19;
#endif
    __asm__ volatile("dsb\n\tisb" : : : "memory");
    aidge_start();
    for (;;) {
    }
}

/* `frame` is what the core pushed: r0-r3, r12, lr, pc, xpsr. The emulators read this line. */
__attribute__((noreturn, used)) static void report_fault(const uint32_t *frame)
{
    semihosting_write0("aidge-fault pc ");
    semihosting_write_hexadecimal(frame[6]);
#if __ARM_ARCH >= 7
    semihosting_write0(" status ");
    semihosting_write_hexadecimal(REGISTER(CFSR));
    semihosting_write0(" address ");
    semihosting_write_hexadecimal(REGISTER(BFAR));
#endif
    semihosting_write0("\n");
    semihosting_exit(EXIT_FAULT);
}

__attribute__((naked)) void Fault_Handler(void)
{
    __asm__ volatile("mov r0, sp\n\tbl report_fault");
}

/* Counts the turns of SysTick where a program defines it. */
void SysTick_Handler(void) __attribute__((weak, alias("Fault_Handler")));

typedef union { void (*handler)(void); uint32_t *stack; } vector;

extern const vector aidge_vectors[16];
__attribute__((section(".vectors"), used)) const vector aidge_vectors[16] = {
    {.stack = __stack_top}, {.handler = Reset_Handler},
    {.handler = Fault_Handler}, {.handler = Fault_Handler}, {.handler = Fault_Handler}, {.handler = Fault_Handler},
    {.handler = Fault_Handler}, {.handler = Fault_Handler}, {.handler = 0}, {.handler = 0}, {.handler = 0},
    {.handler = Fault_Handler}, {.handler = Fault_Handler}, {.handler = 0}, {.handler = Fault_Handler}, {.handler = SysTick_Handler},
};
