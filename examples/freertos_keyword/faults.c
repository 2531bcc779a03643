/* SPDX-License-Identifier: MIT */
#include "faults.h"

#include <string.h>

#include "FreeRTOS.h"
#include "console.h"
#include "kept.h"
#include "task.h"
#include "watchdog.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define AIRCR REGISTER(0xE000ED0Cu)
#define CFSR REGISTER(0xE000ED28u)

enum { MAGIC = 0x4B455054, RESET_REQUEST = 0x05FA0004, FRAME_WORDS = 8, LR = 5, PC = 6 };

extern uint32_t __stack_limit[], __ram_end[];

struct kept kept __attribute__((section(".noinit.kept")));

static const char *const reasons[REASONS] = {
    "power on", "hard fault", "assertion", "stack overflow", "watchdog", "weights damaged", "weights failed their self-test",
    "memory damaged",
};

void faults_start(void)
{
    if (kept.magic != (uint32_t)MAGIC || kept.reason >= (uint32_t)REASONS) {
        (void)memset(&kept, 0, sizeof kept);
        kept.magic = (uint32_t)MAGIC;
    }
    kept.starts++;
    console_text("start ");
    console_number(kept.starts);
    console_text(": ");
    console_text(reasons[kept.reason]);
    if (kept.reason != (uint32_t)POWER_ON) {
        console_text(" in ");
        console_text(kept.task);
        console_text(" at frame ");
        console_number(kept.frame);
        console_text(", detail ");
        console_number(kept.detail);
        console_text(", pc ");
        console_hexadecimal(kept.pc);
        console_text(" lr ");
        console_hexadecimal(kept.lr);
        console_text(" cfsr ");
        console_hexadecimal(kept.cfsr);
    }
    console_text("\n");
    kept.reason = (uint32_t)POWER_ON;
}

/* Resets the chip. The first record wins: what happens on the way to the reset is a consequence. */
__attribute__((noreturn)) static void restart(uint32_t reason, uint32_t detail, const char *task, uint32_t pc, uint32_t lr)
{
    if (kept.reason == (uint32_t)POWER_ON) {
        kept.reason = reason;
        kept.frame = kept.frames;
        kept.detail = detail;
        kept.pc = pc;
        kept.lr = lr;
        kept.cfsr = CFSR;
        (void)strncpy(kept.task, task, sizeof kept.task - 1u);
    }
    for (;;) {
        __asm__ volatile("dsb" : : : "memory");
        AIRCR = (uint32_t)RESET_REQUEST;
        __asm__ volatile("dsb" : : : "memory");
    }
}

/* Not pcTaskGetName, which has an assertion: a failed assertion must not lead to another one. */
static const char *task_name(void)
{
    const StaticTask_t *const task = (const StaticTask_t *)xTaskGetCurrentTaskHandle();

    return xTaskGetSchedulerState() == taskSCHEDULER_NOT_STARTED ? "main" : (const char *)task->ucDummy7;
}

void faults_restart(uint32_t reason, uint32_t detail)
{
    restart(reason, detail, task_name(), 0u, (uint32_t)__builtin_return_address(0));
}

void faults_assertion(uint32_t line)
{
    restart((uint32_t)ASSERTION, line, task_name(), 0u, (uint32_t)__builtin_return_address(0));
}

void vApplicationStackOverflowHook(TaskHandle_t task, char *name);

void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)task;
    restart((uint32_t)STACK_OVERFLOW, 0u, name, 0u, 0u);
}

/* `frame` is what the core pushed: r0-r3, r12, lr, pc, xpsr. It is read only where there is RAM: the fault may be the stack's. */
__attribute__((noreturn)) static void stopped(uint32_t reason, uint32_t detail, const uint32_t *frame)
{
    const int is_readable = frame >= __stack_limit && frame + FRAME_WORDS <= __ram_end;

    restart(reason, detail, task_name(), is_readable ? frame[PC] : 0u, is_readable ? frame[LR] : 0u);
}

__attribute__((used, noreturn)) static void hard_fault(const uint32_t *frame)
{
    stopped((uint32_t)HARD_FAULT, 0u, frame);
}

__attribute__((used)) static void watchdog_interrupt(const uint32_t *frame)
{
    const uint32_t hanging = watchdog_expired();

    if (hanging != 0u) {
        stopped((uint32_t)WATCHDOG, hanging, frame);
    }
}

void HardFault_Handler(void);
void NMI_Handler(void);

__attribute__((naked)) void HardFault_Handler(void)
{
    __asm__ volatile("tst lr, #4\n\tite eq\n\tmrseq r0, msp\n\tmrsne r0, psp\n\tb hard_fault");
}

/* The watchdog. Where even this does not run, the next time-out resets the chip without a record. */
__attribute__((naked)) void NMI_Handler(void)
{
    __asm__ volatile("tst lr, #4\n\tite eq\n\tmrseq r0, msp\n\tmrsne r0, psp\n\tpush {r3, lr}\n\tbl watchdog_interrupt\n\tpop {r3, pc}");
}
