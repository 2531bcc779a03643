/* SPDX-License-Identifier: MIT */
  .syntax unified
  .cpu cortex-m4
  .thumb

  .section .text.Reset_Handler, "ax", %progbits
  .global Reset_Handler
  .type Reset_Handler, %function
Reset_Handler:
  ldr sp, =_estack
  bl SystemInit
  ldr r0, =_sdata
  ldr r1, =_edata
  ldr r2, =_sidata
copy_data:
  cmp r0, r1
  bhs data_is_there
  ldr r3, [r2], #4
  str r3, [r0], #4
  b copy_data
data_is_there:
  ldr r0, =_sbss
  ldr r1, =_ebss
  movs r3, #0
clear_bss:
  cmp r0, r1
  bhs bss_is_clear
  str r3, [r0], #4
  b clear_bss
bss_is_clear:
  bl main
  b .
  .size Reset_Handler, . - Reset_Handler

  .section .text.Default_Handler, "ax", %progbits
  .type Default_Handler, %function
Default_Handler:
  b Default_Handler
  .size Default_Handler, . - Default_Handler

  .section .isr_vector, "a", %progbits
  .type g_pfnVectors, %object
g_pfnVectors:
  .word _estack
  .word Reset_Handler
  .rept 14 + 97 /* the exceptions and interrupts of the chip: none is used here */
  .word Default_Handler
  .endr
  .size g_pfnVectors, . - g_pfnVectors
