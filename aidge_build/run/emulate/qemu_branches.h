/* SPDX-License-Identifier: MIT */
/* Instructions that call or branch to themselves, in the bytes of a program. */
#ifndef AIDGE_QEMU_BRANCHES_H
#define AIDGE_QEMU_BRANCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which instructions call, and which branch to themselves, depends on the instruction set. */
enum { THUMB, RISCV };
static int instruction_set = THUMB;

static bool is_riscv_call(const uint8_t *bytes, size_t size)
{
    if (size == 2) /* c.jal on 32-bit cores; c.jalr: a register, and not the one that c.ebreak has in its place */
        return ((bytes[1] & 0xE0) == 0x20 && (bytes[0] & 3) == 1) ||
               ((bytes[1] & 0xF0) == 0x90 && (bytes[0] & 0x7F) == 2 && ((bytes[1] & 0x0F) != 0 || (bytes[0] & 0x80) != 0));
    return (bytes[0] == 0xEF || (bytes[0] == 0xE7 && (bytes[1] & 0x70) == 0)) && (bytes[1] & 0x0F) == 0; /* jal, jalr: link in ra */
}

static bool is_riscv_loop(const uint8_t *bytes, size_t size)
{
    if (size == 2) /* c.j to itself */
        return bytes[1] == 0xA0 && bytes[0] == 0x01;
    return bytes[0] == 0x6F && bytes[1] == 0 && bytes[2] == 0 && bytes[3] == 0; /* jal zero, 0 */
}

static bool is_loop(const uint8_t *bytes, size_t size)
{
    if (instruction_set == RISCV)
        return is_riscv_loop(bytes, size);
    return size == 2 && bytes[0] == 0xFE && bytes[1] == 0xE7; /* "b ." */
}

static bool is_call(const uint8_t *bytes, size_t size)
{
    if (instruction_set == RISCV)
        return is_riscv_call(bytes, size);
    if (size == 2) /* blx register */
        return bytes[1] == 0x47 && (bytes[0] & 0x87) == 0x80;
    return (bytes[1] & 0xF8) == 0xF0 && (bytes[3] & 0xD0) == 0xD0; /* bl label */
}

/* Moves `count` bits of a word from place `from` to place `to`. */
static uint32_t moved(uint32_t word, uint32_t from, uint32_t count, uint32_t to)
{
    return (word >> from & ((1u << count) - 1)) << to;
}

/* The function that "bl label" at `address` calls; in Thumb the first half of the word is the higher one. */
static uint32_t thumb_callee(uint32_t word, uint32_t address)
{
    const uint32_t top = word >> 10 & 1;
    const uint32_t middle = (~(word >> 29 ^ top) & 1) << 23 | (~(word >> 27 ^ top) & 1) << 22;
    return address + 4 + ((0u - top) << 24 | middle | moved(word, 0, 10, 12) | moved(word, 16, 11, 1));
}

/* The same of "jal ra, label", and of "c.jal label" on cores of 32 bits. */
static uint32_t riscv_callee(uint32_t word, size_t size, uint32_t address)
{
    if (size == 4)
        return address + ((0u - (word >> 31)) << 20 | (word & 0xFF000) | moved(word, 20, 1, 11) | moved(word, 21, 10, 1));
    const uint32_t high = (0u - (word >> 12 & 1)) << 11 | moved(word, 8, 1, 10) | moved(word, 9, 2, 8) | moved(word, 6, 1, 7);
    return address + (high | moved(word, 7, 1, 6) | moved(word, 2, 1, 5) | moved(word, 11, 1, 4) | moved(word, 3, 3, 1));
}

/* The function that the last instruction of a block calls; 0 if it does not, or by way of a register. */
static uint32_t callee(const uint8_t *bytes, size_t size, uint32_t address)
{
    const uint32_t low = bytes[0] | (uint32_t)bytes[1] << 8;
    const uint32_t word = size == 4 ? low | (bytes[2] | (uint32_t)bytes[3] << 8) << 16 : low;
    if (!is_call(bytes, size))
        return 0;
    if (instruction_set == THUMB)
        return size == 4 ? thumb_callee(word, address) : 0;
    return bytes[0] == 0xEF || (bytes[0] & 3) == 1 ? riscv_callee(word, size, address) : 0;
}

#endif
