/* SPDX-License-Identifier: MIT */
/* The block hook for Unicorn, registered through ctypes: it counts a hundred times faster than a hook in Python. */
#include <stddef.h>

#include "executed.h"
#include "lines.h"

struct memory {
    uint32_t origin, length, is_flash;
    const uint8_t *bytes;
    struct block *blocks; /* one per halfword */
};

/* The block that starts at a halfword; size 0: not known yet. */
struct block {
    uint16_t size, instructions;
    int32_t layer;
};

struct hook {
    struct counting counting;
    struct executed executed;
    struct reads *reads; /* of flash, through the caches that are simulated */
    struct pieces pieces; /* of the first of them */
    uint32_t read_count, counts_edges, finished_runs;
    uint32_t memory_count, link_register, stack_register;
    struct memory *memories;
    int (*read_register)(void *machine, int number, void *value);
    int (*stop)(void *machine);
    uint64_t look_at; /* instructions from which on `look` is called outside of a run; it sets the next number */
    void (*look)(uint32_t address);
};

static uint16_t count_instructions(const uint8_t *bytes, uint32_t size)
{
    uint16_t count = 0;
    for (uint32_t at = 0; at < size; count++)
        at += thumb_size(bytes + at);
    return count;
}

/* The block and the memory that it is in; NULL if no memory may hold code. */
static struct block *look_up(struct hook *hook, uint32_t address, uint32_t size, const struct memory **found)
{
    for (uint32_t index = 0; index < hook->memory_count; index++) {
        struct memory *memory = &hook->memories[index];
        uint32_t offset = address - memory->origin;
        if (offset < memory->length && size <= memory->length - offset) {
            struct block *block = &memory->blocks[offset / 2];
            if (block->size != size) {
                block->size = (uint16_t)size;
                block->instructions = count_instructions(memory->bytes + offset, size);
                block->layer = counting_find(&hook->counting, address);
                /* "b ." never ends: no interrupt will come. */
                if (size == 2 && memory->bytes[offset] == 0xFE && memory->bytes[offset + 1] == 0xE7)
                    hook->counting.endless_loop = address | 1u;
            }
            *found = memory;
            return block;
        }
    }
    return NULL;
}

static void finish(struct hook *hook)
{
    const size_t rows = (size_t)hook->counting.layer_count + 1;
    executed_finish_run(&hook->executed);
    for (uint32_t index = 0; index < hook->read_count; index++) {
        struct reads *reads = &hook->reads[index];
        memcpy(reads->finished_waited, reads->waited, rows * WAITED * sizeof(uint64_t));
        memcpy(reads->finished_data_lines, reads->data_lines, rows * sizeof(uint64_t));
    }
}

/* The bytes that inferences write: one byte per byte of a stretch of memory. */
struct watch {
    const struct counting *counting;
    uint32_t origin, length;
    uint8_t *written;
};

void aidge_write_hook(void *machine, int access, uint64_t address, int size, int64_t value, void *data)
{
    struct watch *watch = data;
    uint32_t offset = (uint32_t)address - watch->origin;
    (void)machine, (void)access, (void)value;
    for (int index = 0; watch->counting->running && index < size; index++)
        if (offset + (uint32_t)index < watch->length)
            watch->written[offset + (uint32_t)index] = 1;
}

/* A store is on the stack if the stack pointer is at or below its address; a push moves the pointer after its stores. */
enum { LARGEST_PUSH = 128 };
void aidge_stack_hook(void *machine, int access, uint64_t address, int size, int64_t value, void *data)
{
    struct hook *hook = data;
    uint32_t stack = 0;
    (void)access, (void)size, (void)value;
    if (!hook->counting.running || (uint32_t)address >= hook->counting.lowest_stack)
        return;
    hook->read_register(machine, (int)hook->stack_register, &stack);
    if ((uint32_t)address + LARGEST_PUSH >= stack)
        counting_stack_write(&hook->counting, (uint32_t)address);
}

void aidge_read_hook(void *machine, int access, uint64_t address, int size, int64_t value, void *data)
{
    struct hook *hook = data;
    (void)machine, (void)access, (void)size, (void)value;
    for (uint32_t index = 0; index < hook->read_count; index++) {
        struct reads *reads = &hook->reads[index];
        if (!cache_read(&reads->data, (uint32_t)address / reads->data.line_bytes) && hook->counting.running) {
            reads->data_lines[hook->counting.current + 1]++;
            if (index == 0 && hook->pieces.count > 0)
                hook->pieces.data_lines[piece_at(&hook->pieces, hook->counting.current, (uint32_t)address)]++;
        }
    }
}

/* Counts reads from any memory, if pieces are told apart. */
void aidge_load_hook(void *machine, int access, uint64_t address, int size, int64_t value, void *data)
{
    struct hook *hook = data;
    (void)machine, (void)access, (void)value;
    if (hook->counting.running)
        hook->pieces.data_bytes[piece_at(&hook->pieces, hook->counting.current, (uint32_t)address)] += (uint64_t)size;
}

/* Counts the edge and the lines of a block, on which its cycles depend. */
static void follow(struct hook *hook, const struct memory *memory, uint32_t address, uint32_t size)
{
    const struct counting *counting = &hook->counting;
    if (counting->finished_runs != hook->finished_runs) {
        hook->finished_runs = counting->finished_runs;
        finish(hook);
    }
    executed_block(&hook->executed, counting, address, size);
    for (uint32_t index = 0; index < hook->read_count && memory->is_flash; index++) {
        struct counted counted = {NULL, NULL};
        if (counting->running)
            counted.layer = hook->reads[index].waited + (counting->current + 1) * WAITED;
        if (counting->running && index == 0 && hook->pieces.count > 0)
            counted.piece = hook->pieces.waited + piece_at(&hook->pieces, counting->current, address) * WAITED;
        fetch_block(&hook->reads[index], address, memory->bytes + (address - memory->origin), size, thumb_size, counted);
    }
}

void aidge_block_hook(void *machine, uint64_t address, uint32_t size, void *data)
{
    struct hook *hook = data;
    uint32_t link = 0;
    const struct memory *memory;
    struct block *block;
    block = look_up(hook, (uint32_t)address, size, &memory);
    if (block == NULL)
        return;
    if (address == hook->counting.run_address || address == hook->counting.step_address)
        hook->read_register(machine, (int)hook->link_register, &link);
    counting_block(&hook->counting, (uint32_t)address, block->instructions, block->layer, link);
    if (address == hook->counting.run_address) {
        hook->read_register(machine, (int)hook->stack_register, &hook->counting.entry_stack);
        hook->counting.lowest_stack = hook->counting.entry_stack;
    }
    if (hook->counts_edges)
        follow(hook, memory, (uint32_t)address, size);
    if (hook->counting.total >= hook->look_at && !hook->counting.running)
        hook->look((uint32_t)address);
    if (counting_stops(&hook->counting))
        hook->stop(machine);
}
