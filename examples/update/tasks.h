/* SPDX-License-Identifier: MIT */
/* A scheduler of tasks that take turns: each has a stack of its own and goes on until it lets the next one run. Cortex-M4. */
#ifndef TASKS_H
#define TASKS_H

#include <stdint.h>

/* Adds a task, which must not return; main is the first one. `stack`: `words` of them, at a multiple of 8 bytes. */
void task_start(void (*body)(void), uint32_t *stack, uint32_t words);

/* Lets the other tasks run; returns when it is this one's turn again. */
void task_yield(void);

#endif
