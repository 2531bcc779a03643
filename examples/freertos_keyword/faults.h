/* SPDX-License-Identifier: MIT */
/* Whatever ends the program writes a record first; the next start prints it. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdint.h>

/* Keeps the record of the last run, or makes a new one when power came on; prints it. */
void faults_start(void);

/* Writes the record and resets the chip. `reason` is an `enum reason` of kept.h; `detail` says more about it. */
void faults_restart(uint32_t reason, uint32_t detail) __attribute__((noreturn));

/* configASSERT of the kernel; `line` is the record's detail. */
void faults_assertion(uint32_t line) __attribute__((noreturn));

#endif
