/* SPDX-License-Identifier: MIT */
#include "tasks.h"

enum { TASKS = 4, SAVED_CORE = 9, SAVED_FLOAT = 16 };

static uint32_t *stacks[TASKS]; /* where those that wait have left off */
static uint32_t started = 1, running;

/* Puts what a function must keep on the stack, and takes it from the other one: returns into the other task. */
__attribute__((naked, noinline)) static void change(uint32_t **left __attribute__((unused)), uint32_t *taken __attribute__((unused)))
{
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "vpush {s16-s31}\n\t"
                     "str sp, [r0]\n\t"
                     "mov sp, r1\n\t"
                     "vpop {s16-s31}\n\t"
                     "pop {r4-r11, pc}");
}

void task_start(void (*body)(void), uint32_t *stack, uint32_t words)
{
    uint32_t *top = stack + (words & ~1u); /* what the body begins with: a multiple of 8 */

    *--top = (uint32_t)body;
    for (int number = 0; number < SAVED_CORE - 1 + SAVED_FLOAT; number++) {
        *--top = 0;
    }
    stacks[started++] = top;
}

void task_yield(void)
{
    const uint32_t last = running;

    running = (running + 1u) % started;
    if (running != last) {
        change(&stacks[last], stacks[running]);
    }
}
