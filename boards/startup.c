/* SPDX-License-Identifier: 0BSD */
/* Start-up of every Cortex-M board: vector table, FPU and MVE, memories, caches, main. Handlers of the core have the names of
 * CMSIS: a program, or its operating system, defines the ones that it uses. Interrupts of the chip have no entries here: a program
 * puts an array of their handlers, from number 0 on, into the section .vectors.interrupts, which follows the table. */
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

#if __ARM_ARCH_ISA_THUMB == 2
/* The caches of the core (Armv7-M and Armv8-M Architecture Reference Manuals, "Cache maintenance"), where they are off. The linker
 * script of a board with caches calls this before the constructors; without that, the linker leaves it out. By then start-up code
 * has copied code and data to memory, not into a cache. */
#define CLIDR 0xE000ED78u
#define CCSIDR 0xE000ED80u
#define CSSELR 0xE000ED84u
#define ICIALLU 0xE000EF50u
#define DCISW 0xE000EF60u

enum { DATA_CACHE = 1 << 16, CODE_CACHE = 1 << 17, CLIDR_DATA = 3 << 1 };

static void barrier(void)
{
    __asm__ volatile("dsb\n\tisb" : : : "memory");
}

static void invalidate_data_cache(void)
{
    REGISTER(CSSELR) = 0u; /* level 1, data */
    barrier();
    const uint32_t size = REGISTER(CCSIDR);
    const uint32_t line = (size & 7u) + 4u, last_way = size >> 3 & 0x3FFu, last_set = size >> 13 & 0x7FFFu;
    const uint32_t way_shift = (uint32_t)__builtin_clz(last_way | 1u);
    for (uint32_t set = 0u; set <= last_set; set++) {
        for (uint32_t way = 0u; way <= last_way; way++) {
            REGISTER(DCISW) = way << way_shift | set << line;
        }
    }
}

static void switch_on_caches(void)
{
    barrier();
    if ((REGISTER(CCR) & CODE_CACHE) == 0u) {
        REGISTER(ICIALLU) = 0u;
        barrier();
        REGISTER(CCR) |= CODE_CACHE;
        barrier();
    }
    if ((REGISTER(CCR) & DATA_CACHE) == 0u) {
        if ((REGISTER(CLIDR) & CLIDR_DATA) != 0u) {
            invalidate_data_cache();
        }
        barrier();
        REGISTER(CCR) |= DATA_CACHE;
        barrier();
    }
}

__attribute__((section(".aidge_caches"), used)) static void (*const aidge_caches)(void) = switch_on_caches;
#endif

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

#define UNLESS_DEFINED __attribute__((weak, alias("Fault_Handler")))

void NMI_Handler(void) UNLESS_DEFINED;
void HardFault_Handler(void) UNLESS_DEFINED;
void MemManage_Handler(void) UNLESS_DEFINED;
void BusFault_Handler(void) UNLESS_DEFINED;
void UsageFault_Handler(void) UNLESS_DEFINED;
void SVC_Handler(void) UNLESS_DEFINED;
void DebugMon_Handler(void) UNLESS_DEFINED;
void PendSV_Handler(void) UNLESS_DEFINED;
void SysTick_Handler(void) UNLESS_DEFINED; /* `run` counts the turns of SysTick where a program defines it */

typedef union { void (*handler)(void); uint32_t *stack; } vector;

extern const vector aidge_vectors[16];
__attribute__((section(".vectors"), used)) const vector aidge_vectors[16] = {
    {.stack = __stack_top}, {.handler = Reset_Handler}, {.handler = NMI_Handler}, {.handler = HardFault_Handler},
    {.handler = MemManage_Handler}, {.handler = BusFault_Handler}, {.handler = UsageFault_Handler}, {.handler = Fault_Handler},
    {.handler = 0}, {.handler = 0}, {.handler = 0}, {.handler = SVC_Handler},
    {.handler = DebugMon_Handler}, {.handler = 0}, {.handler = PendSV_Handler}, {.handler = SysTick_Handler},
};
