/* SPDX-License-Identifier: MIT */
/* Counts executed instructions block by block: in all, before main, inside one function (a model's run), and per layer of it.
 * Both emulators report the start of every basic block; the rules are here once, and in counting.py once more in Python.
 *
 * A layer's share reaches from the entry of its function to the entry of the next layer or to the return of the run: layers
 * run one after another and share kernels. Layers that the linker merged into one address take turns in the order of their slots.
 * A step is a call of a second function, mostly within runs: the longest counts, in all and of the layer that a step begins with.
 * Firmware that never returns is stopped, often in the middle of a run: `finished` counts only the runs that returned.
 */
#ifndef AIDGE_COUNTING_H
#define AIDGE_COUNTING_H

#include <stdint.h>

enum { NO_LAYER = -1 };

struct layer {
    uint32_t address; /* sorted; equal addresses are merged layers */
    uint32_t turn;    /* calls so far; of several merged layers, the first one counts them */
    uint64_t instructions;
    uint64_t longest_step;
    uint64_t finished; /* instructions when the last run returned */
};

struct counting {
    uint64_t total, inside_run, limit, before_main, step_instructions, longest_step;
    uint64_t finished, at_entry, fewest, most; /* instructions of runs that returned: of all, of the shortest, of the longest */
    uint32_t run_address, main_address, step_address, until_address; /* ~0: no such function */
    uint32_t runs, return_address, running, endless_loop, over_limit;
    uint32_t steps, step_return, stepping;
    uint32_t finished_runs, wanted_runs, reached; /* runs that returned, how many are enough (0: no limit), and whether this or `until` came */
    uint32_t asked; /* to stop, by another thread */
    uint32_t entry_stack, lowest_stack, stack_used; /* of a run: where it found its stack (0: not known), and how deep the shortest run went */
    int32_t current, step_layer;
    uint32_t layer_count;
    struct layer *layers;
};

/* The first layer at `address`, or NO_LAYER. */
static int32_t counting_find(const struct counting *counting, uint32_t address)
{
    uint32_t low = 0, high = counting->layer_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (counting->layers[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < counting->layer_count && counting->layers[low].address == address ? (int32_t)low : NO_LAYER;
}

static void counting_enter_layer(struct counting *counting, int32_t first)
{
    uint32_t merged = 1;
    struct layer *layer = &counting->layers[first];
    while (first + merged < counting->layer_count && layer[merged].address == layer->address)
        merged++;
    counting->current = first + (int32_t)(layer->turn % merged);
    layer->turn++;
}

static void counting_step(struct counting *counting, uint32_t address, uint32_t instructions, int32_t first_layer, uint32_t link)
{
    if (counting->stepping && address == counting->step_return)
        counting->stepping = 0;
    if (address == counting->step_address) {
        counting->stepping = 1;
        counting->steps++;
        counting->step_return = link & ~1u;
        counting->step_instructions = 0;
        counting->step_layer = NO_LAYER;
    }
    if (!counting->stepping)
        return;
    if (first_layer != NO_LAYER && counting->step_layer == NO_LAYER)
        counting->step_layer = counting->running ? counting->current : first_layer;
    counting->step_instructions += instructions;
    if (counting->step_instructions > counting->longest_step)
        counting->longest_step = counting->step_instructions;
    if (counting->step_layer != NO_LAYER && counting->step_instructions > counting->layers[counting->step_layer].longest_step)
        counting->layers[counting->step_layer].longest_step = counting->step_instructions;
}

enum { DEEPEST_STACK = 1 << 16 }; /* addresses further below belong to other code */

/* A run stored something on its stack; interrupts and other tasks have stacks of their own. */
static void counting_stack_write(struct counting *counting, uint32_t address)
{
    if (counting->running && counting->entry_stack - address <= DEEPEST_STACK && address < counting->lowest_stack)
        counting->lowest_stack = address;
}

/* Whether the program is to be stopped. */
static uint32_t counting_stops(const struct counting *counting)
{
    return counting->endless_loop || counting->over_limit || counting->reached || counting->asked;
}

static void counting_finish_run(struct counting *counting)
{
    uint64_t instructions = counting->inside_run - counting->at_entry;
    counting->running = 0;
    counting->current = NO_LAYER;
    if (counting->finished_runs == 0 || instructions < counting->fewest) {
        counting->fewest = instructions;
        counting->stack_used = counting->entry_stack - counting->lowest_stack;
    }
    if (instructions > counting->most)
        counting->most = instructions;
    counting->finished = counting->inside_run;
    counting->finished_runs++;
    for (uint32_t index = 0; index < counting->layer_count; index++)
        counting->layers[index].finished = counting->layers[index].instructions;
    if (counting->finished_runs == counting->wanted_runs)
        counting->reached = 1;
}

/* `first_layer` is counting_find of the block's address, remembered by the caller; `link` is the return address of a call. */
static void counting_block(struct counting *counting, uint32_t address, uint32_t instructions, int32_t first_layer, uint32_t link)
{
    if (counting->running && address == counting->return_address)
        counting_finish_run(counting);
    if (address == counting->until_address)
        counting->reached = 1;
    if (counting->reached)
        return;
    if (address == counting->run_address) {
        counting->running = 1;
        counting->runs++;
        counting->return_address = link & ~1u;
        counting->at_entry = counting->inside_run;
        counting->entry_stack = counting->lowest_stack = 0;
        counting->current = NO_LAYER;
        for (uint32_t index = 0; index < counting->layer_count; index++)
            counting->layers[index].turn = 0;
    }
    if (address == counting->main_address && counting->before_main == 0)
        counting->before_main = counting->total;
    counting->total += instructions;
    if (counting->total > counting->limit)
        counting->over_limit = 1;
    if (counting->running && first_layer != NO_LAYER)
        counting_enter_layer(counting, first_layer);
    counting_step(counting, address, instructions, first_layer, link);
    if (!counting->running)
        return;
    counting->inside_run += instructions;
    if (counting->current != NO_LAYER)
        counting->layers[counting->current].instructions += instructions;
}

#endif
