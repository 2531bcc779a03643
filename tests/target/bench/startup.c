/* SPDX-License-Identifier: MIT */
/* Start-up code as a vendor's package has it: nothing of it comes from this tool. */
#include <stdint.h>

extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], __StackTop[];
int main(void);
uint32_t SystemCoreClock = 16000000u; /* the oscillator that the chip starts with */

void Default_Handler(void)
{
    for (;;) {
    }
}
void HardFault_Handler(void) __attribute__((weak, alias("Default_Handler")));
void SysTick_Handler(void) __attribute__((weak, alias("Default_Handler")));

static void SystemInit(void)
{
#if !defined(WITHOUT_FPU)
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR */
    __asm__ volatile("dsb\n\tisb");
#endif
}

void Reset_Handler(void)
{
    const uint32_t *from = _sidata;
    uint32_t *to;
    SystemInit();
    for (to = _sdata; to < _edata;)
        *to++ = *from++;
    for (to = _sbss; to < _ebss;)
        *to++ = 0;
    (void)main();
}

typedef union { void (*handler)(void); uint32_t *stack; } vector;
__attribute__((section(".isr_vector"), used)) const vector vectors[16] = {
    {.stack = __StackTop}, {.handler = Reset_Handler}, {.handler = Default_Handler}, {.handler = HardFault_Handler},
    {.handler = Default_Handler}, {.handler = Default_Handler}, {.handler = Default_Handler}, {0}, {0}, {0}, {0},
    {.handler = Default_Handler}, {.handler = Default_Handler}, {0}, {.handler = Default_Handler}, {.handler = SysTick_Handler},
};
