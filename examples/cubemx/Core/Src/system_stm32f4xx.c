/* SPDX-License-Identifier: MIT */
#include <stdint.h>

/* Switches the FPU on (CPACR). */
void SystemInit(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
}
