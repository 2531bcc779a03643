/* SPDX-License-Identifier: MIT */
/* Edges of the executed program: how often a basic block ran after another one, in each layer of the runs. They give the
 * estimated cycles (timing/estimate.py). Both emulators count them, and counting.py does so in Python. */
#ifndef AIDGE_EXECUTED_H
#define AIDGE_EXECUTED_H

#include "counting.h"

enum { MOST_EDGES = 1 << 18, EDGE_SLOTS = 1 << 19 };

struct edge {
    uint32_t from, to; /* addresses */
    uint16_t from_size, to_size;
    int32_t layer; /* of `to` */
    uint64_t count, finished; /* finished: when the last run returned */
};

struct executed {
    uint32_t count, is_full; /* is_full: there were more edges than MOST_EDGES, and not all are counted */
    uint32_t previous, previous_size;
    struct edge *edges; /* MOST_EDGES */
    uint32_t *slots;    /* EDGE_SLOTS: a hash table of the numbers of edges, from 1 */
};

/* A block begins; it counts inside of a run. */
static void executed_block(struct executed *executed, const struct counting *counting, uint32_t address, uint32_t size)
{
    uint32_t from = executed->previous, from_size = executed->previous_size, slot;
    int32_t layer = counting->current;
    executed->previous = address;
    executed->previous_size = size;
    if (!counting->running)
        return;
    slot = (from * 0x9E3779B1u ^ address * 0x85EBCA6Bu ^ (uint32_t)layer * 0xC2B2AE35u) >> 8;
    for (slot %= EDGE_SLOTS; executed->slots[slot] != 0; slot = (slot + 1) % EDGE_SLOTS) {
        struct edge *edge = &executed->edges[executed->slots[slot] - 1];
        if (edge->to == address && edge->from == from && edge->layer == layer && edge->to_size == size && edge->from_size == from_size) {
            edge->count++;
            return;
        }
    }
    if (executed->count == MOST_EDGES) {
        executed->is_full = 1;
        return;
    }
    executed->edges[executed->count++] = (struct edge){from, address, (uint16_t)from_size, (uint16_t)size, layer, 1, 0};
    executed->slots[slot] = executed->count;
}

static void executed_finish_run(struct executed *executed)
{
    for (uint32_t index = 0; index < executed->count; index++)
        executed->edges[index].finished = executed->edges[index].count;
}

#endif
