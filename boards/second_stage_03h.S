/* SPDX-License-Identifier: 0BSD */
/* The second stage of an RP2040 for any flash chip: the boot ROM copies these bytes to SRAM and jumps to them. They let the SSI read
 * flash in place by the plain command 03h, one bit at a time, and start the program whose vector table follows them.
 * RP2040 datasheet: 2.8.1.3.1 (second stage), 4.10.13 (registers of the SSI). The bench image adds the CRC. */
    .syntax unified
    .thumb

#define SSI 0x18000000
#define CTRLR0 0x00      /* frames of 32 bits (31 << 16), one line (0 << 21), read like an EEPROM: command, address, data (3 << 8) */
#define CTRLR1 0x04      /* frames of a read less one */
#define SSIENR 0x08
#define BAUDR 0x14       /* an even divider of the core's clock */
#define SPI_CTRLR0 0xF4  /* the command 03h, 8 bits of it (2 << 8), 24 bits of address (6 << 2), both on one line */
#define VECTORS 0x10000100
#define VTOR 0xE000ED08

    .global _start
    .thumb_func
_start:
    ldr r3, =SSI
    movs r1, #0
    str r1, [r3, #SSIENR]
    movs r0, #2
    str r0, [r3, #BAUDR]
    ldr r0, =(31 << 16) | (3 << 8)
    str r0, [r3, #CTRLR0]
    str r1, [r3, #CTRLR1]
    ldr r0, =(0x03 << 24) | (2 << 8) | (6 << 2)
    ldr r2, =SSI + SPI_CTRLR0
    str r0, [r2]
    movs r0, #1
    str r0, [r3, #SSIENR]
    ldr r0, =VECTORS
    ldr r1, =VTOR
    str r0, [r1]
    ldr r1, [r0]
    msr msp, r1
    ldr r1, [r0, #4]
    bx r1
    .pool
