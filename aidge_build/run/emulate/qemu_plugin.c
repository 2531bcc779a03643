/* SPDX-License-Identifier: MIT */
/* A TCG plug-in for QEMU (plug-in API version 1): exact instruction counts, the lowest stack address that was written, and how
 * many bytes of stretches of memory (arenas) the runs wrote.
 * Arguments: out=FILE calls=thumb|riscv run=ADDRESS step=ADDRESS stack=LOW:HIGH main=ADDRESS limit=N, layer=ADDRESS, sorted by address, once per layer,
 * run_end=ADDRESS and fault=BEGIN:END (qemu_entries.h), progress=FILE (of 24 bytes: `struct progress`), runs=N and until=ADDRESS (they end a program that does not end), waits=1 (a branch to itself
 * waits for an interrupt), run_stack=1 (how deep runs use the stack), edges=1 (edges between blocks, for cycles), reads=CACHES and
 * flash=FIRST:LAST (lines of flash, qemu_lines.h), pieces=FILE (of addresses that divide these counts). */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

#include "executed.h"
#include "qemu_branches.h"
#include "qemu_entries.h"
#include "qemu_lines.h"
#include "qemu_rests.h"

/* The part of QEMU's plug-in interface that is used here; Debian packages no header for it. */
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, MEMORY_WRITES = 2, MEMORY_ACCESSES = 3, ADD_U64 = 0 };
typedef void (*translate_callback)(plugin_id, struct qemu_plugin_tb *);
typedef void (*execute_callback)(unsigned, void *);
typedef void (*memory_callback)(unsigned, uint32_t, uint64_t, void *);
typedef void (*exit_callback)(plugin_id, void *);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, translate_callback);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, execute_callback, int, void *);
extern void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
extern void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, memory_callback, int, int, void *);
extern void qemu_plugin_register_atexit_cb(plugin_id, exit_callback, void *);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
extern struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
extern uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
extern size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
extern const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
extern unsigned qemu_plugin_mem_size_shift(uint32_t);
extern bool qemu_plugin_mem_is_store(uint32_t);

#define PUBLIC __attribute__((visibility("default")))
PUBLIC int qemu_plugin_version = 1;

/* The data of a translated block: QEMU hands the pointer back at each execution. */
struct block {
    uint32_t address, last, end, instructions, callee; /* last: its last instruction */
    int32_t layer;
    bool calls, endless;
    uint8_t *bytes; /* NULL if no line is counted */
};

static struct counting counting = {.limit = UINT64_MAX, .run_address = ~0u, .main_address = ~0u, .step_address = ~0u, .until_address = ~0u, .current = NO_LAYER};
/* The progress that another process reads while this one runs. */
struct progress {
    uint64_t instructions, runs, last; /* last: the address of the instruction that ends the last block */
};
static struct progress nobody_looks;
static volatile struct progress *progress = &nobody_looks;
static bool waits_for_interrupts, measures_run_stack;
static const struct block *previous;
static struct executed executed; /* `edges` is NULL if they are not counted */
static const char *result_path;
static uint32_t stack_low, stack_high, lowest_write;
/* The bytes that runs write: one byte per byte of a stretch of memory. */
struct watch {
    uint32_t origin, length;
    uint8_t *written;
};
static struct watch *watches;
static uint32_t watch_count;
/* `by_jump` is set when a function was entered by a jump: its return address is then unknown, and so is the count inside. */
static struct watched {
    uint32_t called_from_end; /* of the block that called it, which an interrupt may have followed */
    bool by_jump;
} run, step;

static uint32_t written_bytes(const struct watch *watch)
{
    uint32_t sum = 0;
    for (uint32_t index = 0; index < watch->length; index++)
        sum += watch->written[index];
    return sum;
}

static void write_result(void)
{
    FILE *file = fopen(result_path, "w");
    if (file == NULL)
        return;
    fprintf(file, "total %" PRIu64 "\nbefore_main %" PRIu64 "\nruns %u\n", counting.total, counting.before_main, counting.runs);
    if (!run.by_jump)
        fprintf(file, "inside_run %" PRIu64 "\nfinished %" PRIu64 "\n", counting.inside_run, counting.finished);
    if (!run.by_jump && counting.finished_runs != 0)
        fprintf(file, "fewest %" PRIu64 "\nmost %" PRIu64 "\n", counting.fewest, counting.most);
    if (measures_run_stack && counting.finished_runs != 0)
        fprintf(file, "run_stack %u\n", counting.stack_used);
    fprintf(file, "finished_runs %u\nrunning %u\nreached %u\n", counting.finished_runs, counting.running, counting.reached);
    write_entries(file);
    if (previous != NULL)
        fprintf(file, "at %u\n", previous->address);
    fprintf(file, "stack %u\nendless_loop %u\n", stack_high - lowest_write, counting.endless_loop);
    fprintf(file, "over_limit %u\n", counting.over_limit);
    for (uint32_t index = 0; index < counting.layer_count; index++)
        fprintf(file, "layer %" PRIu64 "\nfinished_layer %" PRIu64 "\n", counting.layers[index].instructions, counting.layers[index].finished);
    if (!step.by_jump)
        fprintf(file, "steps %u\nlongest_step %" PRIu64 "\n", counting.steps, counting.longest_step);
    for (uint32_t index = 0; index < counting.layer_count; index++)
        fprintf(file, "layer_step %" PRIu64 "\n", counting.layers[index].longest_step);
    for (uint32_t index = 0; index < watch_count; index++)
        fprintf(file, "written %u\n", written_bytes(&watches[index]));
    for (uint32_t index = 0; index < executed.count && !executed.is_full && !run.by_jump; index++) {
        const struct edge *edge = &executed.edges[index];
        fprintf(file, "edge %u %u %u %u %d %" PRIu64 " %" PRIu64 "\n", edge->from, edge->from_size, edge->to, edge->to_size, edge->layer, edge->count, edge->finished);
    }
    if (!run.by_jump) {
        write_lines(file);
        write_pieces(file);
    }
    fclose(file);
}

static uint32_t riscv_size(const uint8_t *bytes)
{
    return (bytes[0] & 3) == 3 ? 4 : 2;
}

/* The return address of the run or step function, if a block at `address` enters it. The interface shows no registers: the
 * address follows the call that led here. */
static uint32_t link_of(uint32_t address)
{
    struct watched *const entered = address == counting.run_address ? &run : address == counting.step_address ? &step : NULL;
    uint32_t link = 0;
    if (entered == NULL)
        return 0;
    link = previous != NULL && previous->calls ? previous->end : entered->called_from_end;
    entered->by_jump |= link == 0;
    entered->called_from_end = 0;
    return link;
}

static void on_execute(unsigned cpu, void *data)
{
    const struct block *block = data;
    uint32_t finished = counting.finished_runs;
    uint32_t from = previous != NULL ? previous->address : 0, from_end = previous != NULL ? previous->end : 0;
    const uint32_t left = previous != NULL ? rests_take_back(&counting, previous->instructions) : 0;
    const bool is_rest = left != 0 && from < block->address && block->end <= from_end; /* it was read with the whole block */
    (void)cpu;
    const uint32_t link = link_of(block->address);
    entries_look(&counting, block->address, from, from_end);
    counting_block(&counting, block->address, block->instructions, block->layer, link);
    entries_counted(&counting, block->layer, finished != counting.finished_runs);
    if (executed.edges != NULL && !is_rest) {
        if (finished != counting.finished_runs) {
            executed_finish_run(&executed);
            finish_lines();
        }
        executed_block(&executed, &counting, block->address, block->end - block->address);
        if (block->bytes != NULL)
            read_block(
                &counting, block->address, block->bytes, block->end - block->address, instruction_set == RISCV ? riscv_size : thumb_size
            );
    }
    const bool is_in_fault = block->address >= entries.fault_begin && block->address < entries.fault_end;
    if (block->endless && (!waits_for_interrupts || is_in_fault))
        counting.endless_loop = block->address | 1u;
    if (block->callee == counting.run_address)
        run.called_from_end = block->end;
    else if (block->callee == counting.step_address)
        step.called_from_end = block->end;
    progress->instructions = counting.total;
    progress->runs = counting.finished_runs;
    progress->last = block->last;
    previous = block;
    if (counting_stops(&counting)) {
        write_result();
        _Exit(1);
    }
}

static void on_read(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu, (void)data;
    if (!qemu_plugin_mem_is_store(info))
        read_data(&counting, (uint32_t)address, 1u << qemu_plugin_mem_size_shift(info));
}

static void on_write(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    uint32_t size = 1u << qemu_plugin_mem_size_shift(info);
    (void)cpu, (void)data;
    if (!qemu_plugin_mem_is_store(info)) /* QEMU 7.2 takes loads for stores where it asks for one of both */
        return;
    if (address >= stack_low && address < lowest_write)
        lowest_write = (uint32_t)address;
    for (uint32_t index = 0; counting.running && index < watch_count; index++)
        for (uint32_t at = (uint32_t)address - watches[index].origin, end = at + size; at != end; at++)
            if (at < watches[index].length)
                watches[index].written[at] = 1;
}

/* A store by way of the stack pointer; `data` is not NULL for a push. The push at the start of a run stores its words from the
 * lowest up, and the last one is just below the run's entry. */
static void on_stack_write(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    static const struct block *first;
    uint32_t end = (uint32_t)address + (1u << qemu_plugin_mem_size_shift(info));
    (void)cpu;
    if (counting.running && counting.entry_stack == 0 && data != NULL) {
        first = previous;
        counting.entry_stack = end;
        counting.lowest_stack = (uint32_t)address;
    } else if (counting.running && previous == first && data != NULL && (uint32_t)address == counting.entry_stack)
        counting.entry_stack = end;
    counting_stack_write(&counting, (uint32_t)address);
}

/* push, stmdb sp!, vpush; str and strd [sp, ...], str [sp, ...]!; vstr [sp, ...] */
static bool is_push(const uint8_t *bytes)
{
    return (bytes[1] & 0xFE) == 0xB4 || (bytes[1] == 0xE9 && bytes[0] == 0x2D) || (bytes[1] == 0xED && bytes[0] == 0x2D);
}

static bool stores_on_stack(const uint8_t *bytes, size_t size)
{
    if (instruction_set != THUMB)
        return false;
    if (is_push(bytes))
        return true;
    if (size == 2)
        return (bytes[1] & 0xF8) == 0x90; /* str [sp, #] */
    return (bytes[0] & 0x1F) == 0x0D && (bytes[1] == 0xF8 || bytes[1] == 0xE9 || bytes[1] == 0xE8 || bytes[1] == 0xED);
}

static void on_translate(plugin_id id, struct qemu_plugin_tb *code)
{
    size_t count = qemu_plugin_tb_n_insns(code);
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(code, count - 1);
    const uint8_t *bytes = qemu_plugin_insn_data(last);
    size_t size = qemu_plugin_insn_size(last);
    struct block *block = malloc(sizeof *block);
    (void)id;
    block->address = (uint32_t)qemu_plugin_tb_vaddr(code);
    block->last = (uint32_t)qemu_plugin_insn_vaddr(last);
    block->end = (uint32_t)(qemu_plugin_insn_vaddr(last) + size);
    block->instructions = (uint32_t)count;
    block->layer = counting_find(&counting, block->address);
    block->calls = is_call(bytes, size);
    block->callee = callee(bytes, size, block->last);
    block->endless = count == 1 && is_loop(bytes, size);
    block->bytes = lines.read_count != 0 ? malloc(block->end - block->address) : NULL;
    for (size_t index = 0; index < count && block->bytes != NULL; index++) {
        struct qemu_plugin_insn *each = qemu_plugin_tb_get_insn(code, index);
        memcpy(block->bytes + ((uint32_t)qemu_plugin_insn_vaddr(each) - block->address), qemu_plugin_insn_data(each), qemu_plugin_insn_size(each));
    }
    for (size_t index = 0; index < count && (lines.read_count != 0 || lines.pieces.count != 0); index++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(code, index), on_read, NO_REGISTERS, MEMORY_ACCESSES, NULL);
    qemu_plugin_register_vcpu_tb_exec_cb(code, on_execute, NO_REGISTERS, block);
    for (size_t index = 0; index < count; index++)
        qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_tb_get_insn(code, index), ADD_U64, &rests.executed, 1);
    for (size_t index = 0; index < count && measures_run_stack; index++) {
        struct qemu_plugin_insn *each = qemu_plugin_tb_get_insn(code, index);
        if (stores_on_stack(qemu_plugin_insn_data(each), qemu_plugin_insn_size(each)))
            qemu_plugin_register_vcpu_mem_cb(
                each, on_stack_write, NO_REGISTERS, MEMORY_WRITES, is_push(qemu_plugin_insn_data(each)) ? &counting : NULL
            );
    }
    for (size_t index = 0; index < count && (stack_high != stack_low || watch_count != 0); index++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(code, index), on_write, NO_REGISTERS, MEMORY_WRITES, NULL);
}

static void on_exit_of_qemu(plugin_id id, void *data)
{
    (void)id, (void)data;
    write_result();
}

static void add_layer(uint32_t address)
{
    counting.layers = realloc(counting.layers, (counting.layer_count + 1) * sizeof *counting.layers);
    counting.layers[counting.layer_count++] = (struct layer){.address = address};
}

static void add_watch(uint32_t origin, uint32_t length)
{
    watches = realloc(watches, (watch_count + 1) * sizeof *watches);
    watches[watch_count++] = (struct watch){.origin = origin, .length = length, .written = calloc(length, 1)};
}

static void count_edges(void)
{
    executed.edges = calloc(MOST_EDGES, sizeof *executed.edges);
    executed.slots = calloc(EDGE_SLOTS, sizeof *executed.slots);
}

static void show_progress(const char *path)
{
    int file = open(path, O_RDWR);
    void *shared = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED)
        progress = shared;
}

PUBLIC int qemu_plugin_install(plugin_id id, const void *info, int count, char **arguments)
{
    (void)info;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* a program that does not end would outlive the command that was killed */
#endif
    for (int index = 0; index < count; index++) {
        char *value = strchr(arguments[index], '=');
        if (value == NULL)
            return 1;
        value++;
        if (strncmp(arguments[index], "out=", 4) == 0)
            result_path = strdup(value);
        else if (strncmp(arguments[index], "run=", 4) == 0)
            counting.run_address = (uint32_t)strtoul(value, NULL, 0);
        else if (strncmp(arguments[index], "run_end=", 8) == 0)
            entries.run_end = (uint32_t)strtoul(value, NULL, 0);
        else if (strncmp(arguments[index], "fault=", 6) == 0) {
            entries.fault_begin = (uint32_t)strtoul(value, &value, 0);
            entries.fault_end = (uint32_t)strtoul(value + 1, NULL, 0);
        } else if (strncmp(arguments[index], "step=", 5) == 0)
            counting.step_address = (uint32_t)strtoul(value, NULL, 0);
        else if (strncmp(arguments[index], "main=", 5) == 0)
            counting.main_address = (uint32_t)strtoul(value, NULL, 0);
        else if (strncmp(arguments[index], "until=", 6) == 0)
            counting.until_address = (uint32_t)strtoul(value, NULL, 0);
        else if (strncmp(arguments[index], "runs=", 5) == 0)
            counting.wanted_runs = (uint32_t)strtoul(value, NULL, 0);
        else if (strncmp(arguments[index], "run_stack=", 10) == 0)
            measures_run_stack = *value == '1';
        else if (strncmp(arguments[index], "edges=", 6) == 0 && *value == '1')
            count_edges();
        else if (strncmp(arguments[index], "waits=", 6) == 0)
            waits_for_interrupts = *value == '1';
        else if (strncmp(arguments[index], "progress=", 9) == 0)
            show_progress(value);
        else if (strncmp(arguments[index], "calls=", 6) == 0)
            instruction_set = strcmp(value, "riscv") == 0 ? RISCV : THUMB;
        else if (strncmp(arguments[index], "limit=", 6) == 0)
            counting.limit = strtoull(value, NULL, 0);
        else if (strncmp(arguments[index], "reads=", 6) == 0)
            add_reads(value);
        else if (strncmp(arguments[index], "flash=", 6) == 0)
            add_flash(value);
        else if (strncmp(arguments[index], "pieces=", 7) == 0)
            add_pieces(value);
        else if (strncmp(arguments[index], "layer=", 6) == 0)
            add_layer((uint32_t)strtoul(value, NULL, 0));
        else if (strncmp(arguments[index], "stack=", 6) == 0) {
            stack_low = (uint32_t)strtoul(value, &value, 0);
            stack_high = (uint32_t)strtoul(value + 1, NULL, 0);
        } else if (strncmp(arguments[index], "watch=", 6) == 0) {
            uint32_t origin = (uint32_t)strtoul(value, &value, 0);
            add_watch(origin, (uint32_t)strtoul(value + 1, NULL, 0));
        }
    }
    lowest_write = stack_high;
    begin_lines(counting.layer_count);
    if (result_path == NULL)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
    return 0;
}
