/* SPDX-License-Identifier: MIT */
/* Calls of the run function that a board would not forgive, and the handler of faults: what the plug-in sees without registers. */
#ifndef AIDGE_QEMU_ENTRIES_H
#define AIDGE_QEMU_ENTRIES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "counting.h"

static struct {
    uint32_t run_end;                    /* of the run function */
    uint32_t fault_begin, fault_end;     /* the function that handles faults; no interrupt ends a loop in it */
    uint32_t refused;                    /* runs that returned before their first layer */
    uint32_t again, before;              /* the block that entered a run while another had not returned, and where that returns */
    uint32_t fault_from, fault_from_end; /* the block in which the fault occurred */
    bool has_begun_layer;
} entries;

/* Looks at a block, which another one leads to, before it is counted. */
static void entries_look(const struct counting *counting, uint32_t address, uint32_t from, uint32_t from_end)
{
    bool is_inside = from >= counting->run_address && from < entries.run_end; /* a loop to the first instruction */
    if (address == counting->run_address && !is_inside) {
        if (counting->running && counting->return_address != 0 && entries.again == 0) { /* 0: a jump led there, so its end is not seen */
            entries.again = from;
            entries.before = counting->return_address;
        }
        entries.has_begun_layer = false;
    }
    if (address == entries.fault_begin && entries.fault_from_end == 0) {
        entries.fault_from = from;
        entries.fault_from_end = from_end;
    }
}

/* Looks at a block after it was counted. */
static void entries_counted(const struct counting *counting, int32_t layer, bool has_finished)
{
    entries.refused += has_finished && !entries.has_begun_layer && counting->layer_count != 0;
    entries.has_begun_layer |= counting->running && layer != NO_LAYER;
}

static void write_entries(FILE *file)
{
    fprintf(file, "refused %u\nentered_again %u\nentered_before %u\n", entries.refused, entries.again, entries.before);
    if (entries.fault_from_end != 0)
        fprintf(file, "fault_from %u %u\n", entries.fault_from, entries.fault_from_end - entries.fault_from);
}

#endif
