/* SPDX-License-Identifier: MIT */
/* Key words, said by grown-ups or by children: a network for each, the same layers trained with other voices. A switch says who
 * speaks, so they never run at once: they work in the same memory, and what they have in common of the kernels is there once. */
#include <stdalign.h>
#include <stdint.h>

#include "children.h"
#include "grown_ups.h"
#include "semihosting.h"
#include "voices.h"

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define HOP GROWN_UPS_INPUT_SIZE

static alignas(LARGER(GROWN_UPS_ARENA_ALIGNMENT, CHILDREN_ARENA_ALIGNMENT)) unsigned char
    arena[LARGER(GROWN_UPS_ARENA_BYTES, CHILDREN_ARENA_BYTES)];
static alignas(LARGER(GROWN_UPS_STATE_ALIGNMENT, CHILDREN_STATE_ALIGNMENT)) unsigned char
    state[LARGER(GROWN_UPS_STATE_BYTES, CHILDREN_STATE_BYTES)];

/* The label of a sound, -1 where a network refused to run. */
static int64_t heard(const int16_t *sound, int is_child)
{
    grown_ups_instance grown_ups;
    children_instance children;
    int64_t label = 0;

    if (grown_ups_init(&grown_ups, arena, state) != 0 || children_init(&children, arena, state) != 0) {
        return -1;
    }
    for (int32_t sample = 0; sample + HOP <= SAMPLES; sample += HOP) {
        if ((is_child ? children_run(&children, &sound[sample], &label) : grown_ups_run(&grown_ups, &sound[sample], &label)) != 0) {
            return -1;
        }
    }
    return label;
}

int main(void)
{
    int32_t right = 0;

    for (int32_t number = 0; number < SOUNDS; number++) {
        right += heard(sounds[number], number >= GROWN_UP_SOUNDS) == labels[number];
    }
    semihosting_write_integer(right);
    semihosting_write0(" of ");
    semihosting_write_integer(SOUNDS);
    semihosting_write0(" words right\n");
    return right >= SOUNDS - 2 ? 0 : 1;
}
