/* SPDX-License-Identifier: 0BSD */
/* What start-up code does to the memories before main; the linker script (link.ld.j2) lists what to copy and what to clear. */
#ifndef AIDGE_MEMORIES_H
#define AIDGE_MEMORIES_H

#include <stdint.h>

struct copied { const uint32_t *from; uint32_t *first, *end; };
struct cleared { uint32_t *first, *end; };
struct clock { volatile uint32_t *control; uint32_t bits; };

extern const struct copied aidge_copied_first[], aidge_copied_end[];
extern const struct cleared aidge_cleared_first[], aidge_cleared_end[];
extern const struct clock aidge_clocks_first[] __attribute__((weak)), aidge_clocks_end[] __attribute__((weak));
extern void (*const aidge_constructors_first[])(void), (*const aidge_constructors_end[])(void);

/* Always inlined: a bound of the stack is found where a loop and the table that it goes through are in one function. */
#define AIDGE_START_UP static inline __attribute__((always_inline)) void

AIDGE_START_UP aidge_switch_on_clocks(void)
{
    for (const struct clock *clock = aidge_clocks_first; clock < aidge_clocks_end; clock++) {
        *clock->control |= clock->bits;
        (void)*clock->control; /* the memory answers when the write has arrived */
    }
}

AIDGE_START_UP aidge_fill_memories(void)
{
    for (const struct copied *range = aidge_copied_first; range < aidge_copied_end; range++) {
        const uint32_t *from = range->from;
        for (uint32_t *word = range->first; word < range->end; word++) {
            *word = *from++;
        }
    }
    for (const struct cleared *range = aidge_cleared_first; range < aidge_cleared_end; range++) {
        for (uint32_t *word = range->first; word < range->end; word++) {
            *word = 0u;
        }
    }
}

AIDGE_START_UP aidge_construct(void)
{
    for (void (*const *constructor)(void) = aidge_constructors_first; constructor < aidge_constructors_end; constructor++) {
        (*constructor)();
    }
}

#endif
