/* SPDX-License-Identifier: MIT */
/* Lines of flash that code and data come from, through caches: the rules of timing/memory.py, in C. */
#ifndef AIDGE_LINES_H
#define AIDGE_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NO_LINE UINT32_MAX
enum { WAITED = 32 }; /* bins of instructions between the start of a prefetch and the use of its line; 0: nothing was fetched ahead */

/* The lines of each set, the most recently used first: the last one is replaced. */
struct cache {
    uint32_t line_bytes, sets, ways;
    uint32_t *lines;
};

static int cache_has(const struct cache *cache, uint32_t line)
{
    const uint32_t *set = cache->lines + line % cache->sets * cache->ways;
    for (uint32_t way = 0; way < cache->ways; way++)
        if (set[way] == line)
            return 1;
    return 0;
}

/* Whether the cache had the line; it has it now. */
static int cache_read(struct cache *cache, uint32_t line)
{
    uint32_t *set = cache->lines + line % cache->sets * cache->ways, way = 0;
    while (way < cache->ways - 1 && set[way] != line)
        way++;
    int is_there = set[way] == line;
    memmove(set + 1, set, way * sizeof *set);
    set[0] = line;
    return is_there;
}

/* Reads of a flash through caches, which may share their lines. */
struct reads {
    struct cache code, data; /* code.ways is 0: no line of code is counted */
    uint32_t prefetches, line, ahead, since; /* since: instructions that began in the line */
    uint64_t *waited, *data_lines; /* rows of WAITED, and lines: outside of layers, then one per layer */
    uint64_t *finished_waited, *finished_data_lines; /* when the last run returned */
};

/* Stretches of addresses that are told apart, from begins[0], which is 0; rows: outside of layers, then one per layer. */
struct pieces {
    uint32_t count; /* 0: none are told apart */
    const uint32_t *begins;
    uint64_t *waited, *data_lines, *data_bytes; /* rows of `count` pieces */
};

/* The number of a piece in the rows of a layer, -1 outside of layers. */
static size_t piece_at(const struct pieces *pieces, int32_t layer, uint32_t address)
{
    uint32_t low = 0, high = pieces->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (pieces->begins[middle] <= address)
            low = middle;
        else
            high = middle;
    }
    return (size_t)(layer + 1) * pieces->count + low;
}

/* Rows of WAITED in which a line is counted; NULL: it is not. */
struct counted { uint64_t *layer, *piece; };

static void fetch_line(struct reads *reads, uint32_t line, uint32_t instructions, struct counted counted)
{
    if (line != reads->line) {
        uint32_t since = reads->ahead != line ? 0 : reads->since < WAITED ? reads->since : WAITED - 1;
        int is_there = cache_read(&reads->code, line);
        if (!is_there && counted.layer != NULL)
            counted.layer[since]++;
        if (!is_there && counted.piece != NULL)
            counted.piece[since]++;
        reads->ahead = reads->prefetches && !cache_has(&reads->code, line + 1) ? line + 1 : NO_LINE;
        reads->line = line;
        reads->since = 0;
    }
    reads->since += instructions;
}

/* The bytes of the instruction that begins here. A Thumb instruction that starts with 0b11101, 0b11110 or 0b11111 in its first
 * halfword has a second one. */
typedef uint32_t (*size_of_instruction)(const uint8_t *bytes);
static uint32_t thumb_size(const uint8_t *bytes)
{
    return bytes[1] >> 3 >= 0x1D ? 4 : 2;
}

/* The lines of a block of code. */
static void fetch_block(
    struct reads *reads, uint32_t address, const uint8_t *bytes, uint32_t size, size_of_instruction size_of, struct counted counted
)
{
    const uint32_t line_bytes = reads->code.line_bytes;
    if (reads->code.ways == 0)
        return;
    for (uint32_t at = 0; at < size;) {
        uint32_t line = (address + at) / line_bytes, end = (line + 1) * line_bytes - address, instructions = 0;
        for (; at < size && at < end; instructions++)
            at += size_of(bytes + at);
        fetch_line(reads, line, instructions, counted);
    }
    fetch_line(reads, (address + size - 1) / line_bytes, 0, counted);
}

#endif
