/* SPDX-License-Identifier: MIT */
/* Lines of flash that a program in QEMU reads: the caches are arguments of the plug-in, and the counts lines of its result. */
#ifndef AIDGE_QEMU_LINES_H
#define AIDGE_QEMU_LINES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "counting.h"
#include "lines.h"

enum { MOST_READS = 8, MOST_FLASHES = 8 };
#define NO_PIECE SIZE_MAX
static struct {
    struct reads reads[MOST_READS];
    struct { uint32_t first, last; } flashes[MOST_FLASHES];
    struct pieces pieces; /* of the first of `reads` */
    uint32_t read_count, flash_count, rows; /* rows: outside of layers, then one per layer */
} lines;

static uint32_t next_number(char **text)
{
    uint32_t number = (uint32_t)strtoul(*text, text, 0);
    *text += **text == ':';
    return number;
}

static struct cache cache_of(char **text)
{
    struct cache cache;
    cache.line_bytes = next_number(text);
    cache.sets = next_number(text);
    cache.ways = next_number(text);
    cache.lines = malloc((size_t)cache.sets * cache.ways * sizeof *cache.lines);
    memset(cache.lines, 0xFF, (size_t)cache.sets * cache.ways * sizeof *cache.lines); /* NO_LINE */
    return cache;
}

/* PREFETCHES:SHARED, then LINE:SETS:WAYS of code (0:0:0: no line of code is counted) and of data. */
static void add_reads(char *text)
{
    struct reads *reads = &lines.reads[lines.read_count++];
    uint32_t is_shared;
    reads->prefetches = next_number(&text);
    is_shared = next_number(&text);
    reads->code = cache_of(&text);
    reads->data = is_shared ? reads->code : cache_of(&text);
    reads->line = reads->ahead = NO_LINE;
}

static void add_flash(char *text)
{
    lines.flashes[lines.flash_count].first = next_number(&text);
    lines.flashes[lines.flash_count++].last = next_number(&text);
}

/* A file of the first addresses of pieces, 32 bits each. */
static void add_pieces(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint32_t address, *begins = NULL;
    while (file != NULL && fread(&address, sizeof address, 1, file) == 1) {
        begins = realloc(begins, (lines.pieces.count + 1) * sizeof *begins);
        begins[lines.pieces.count++] = address;
    }
    lines.pieces.begins = begins;
    if (file != NULL)
        fclose(file);
}

static void begin_lines(uint32_t layers)
{
    size_t pieces;
    lines.rows = layers + 1;
    pieces = (size_t)lines.rows * lines.pieces.count;
    lines.pieces.waited = calloc(pieces * WAITED, sizeof(uint64_t));
    lines.pieces.data_lines = calloc(pieces, sizeof(uint64_t));
    lines.pieces.data_bytes = calloc(pieces, sizeof(uint64_t));
    for (uint32_t index = 0; index < lines.read_count; index++) {
        struct reads *reads = &lines.reads[index];
        reads->waited = calloc(lines.rows * WAITED, sizeof(uint64_t));
        reads->finished_waited = calloc(lines.rows * WAITED, sizeof(uint64_t));
        reads->data_lines = calloc(lines.rows, sizeof(uint64_t));
        reads->finished_data_lines = calloc(lines.rows, sizeof(uint64_t));
    }
}

static void finish_lines(void)
{
    for (uint32_t index = 0; index < lines.read_count; index++) {
        struct reads *reads = &lines.reads[index];
        memcpy(reads->finished_waited, reads->waited, lines.rows * WAITED * sizeof(uint64_t));
        memcpy(reads->finished_data_lines, reads->data_lines, lines.rows * sizeof(uint64_t));
    }
}

static bool is_in_flash(uint32_t address)
{
    for (uint32_t index = 0; index < lines.flash_count; index++)
        if (address >= lines.flashes[index].first && address <= lines.flashes[index].last)
            return true;
    return false;
}

static void read_block(const struct counting *counting, uint32_t address, const uint8_t *bytes, uint32_t size, size_of_instruction size_of)
{
    for (uint32_t index = 0; index < lines.read_count && is_in_flash(address); index++) {
        struct reads *reads = &lines.reads[index];
        struct counted counted = {counting->running ? reads->waited + (counting->current + 1) * WAITED : NULL, NULL};
        if (counting->running && index == 0 && lines.pieces.count != 0)
            counted.piece = lines.pieces.waited + piece_at(&lines.pieces, counting->current, address) * WAITED;
        fetch_block(reads, address, bytes, size, size_of, counted);
    }
}

static void read_data(const struct counting *counting, uint32_t address, uint32_t size)
{
    size_t piece = counting->running && lines.pieces.count != 0 ? piece_at(&lines.pieces, counting->current, address) : NO_PIECE;
    if (piece != NO_PIECE)
        lines.pieces.data_bytes[piece] += size;
    for (uint32_t index = 0; index < lines.read_count && is_in_flash(address); index++) {
        struct reads *reads = &lines.reads[index];
        if (!cache_read(&reads->data, address / reads->data.line_bytes) && counting->running) {
            reads->data_lines[counting->current + 1]++;
            if (index == 0 && piece != NO_PIECE)
                lines.pieces.data_lines[piece]++;
        }
    }
}

/* A line for each row of each cache: the bins of code, then the lines of data. */
static void write_lines(FILE *file)
{
    for (uint32_t row = 0; row < lines.rows * lines.read_count * 2; row++) {
        const struct reads *reads = &lines.reads[row / lines.rows % lines.read_count];
        bool is_finished = row >= lines.rows * lines.read_count;
        const uint64_t *waited = (is_finished ? reads->finished_waited : reads->waited) + row % lines.rows * WAITED;
        fputs(is_finished ? "finished_lines" : "lines", file);
        for (uint32_t bin = 0; bin < WAITED; bin++)
            fprintf(file, " %" PRIu64, waited[bin]);
        fprintf(file, " %" PRIu64 "\n", (is_finished ? reads->finished_data_lines : reads->data_lines)[row % lines.rows]);
    }
}

/* A line for each piece that a layer reads: its number among all rows, the lines and bytes of data, and the bins of code. */
static void write_pieces(FILE *file)
{
    for (size_t row = 0; row < (size_t)lines.rows * lines.pieces.count; row++) {
        const uint64_t *waited = lines.pieces.waited + row * WAITED;
        uint64_t read = lines.pieces.data_bytes[row];
        for (uint32_t bin = 0; bin < WAITED; bin++)
            read += waited[bin];
        if (read == 0)
            continue;
        fprintf(file, "piece %zu %" PRIu64 " %" PRIu64, row, lines.pieces.data_lines[row], lines.pieces.data_bytes[row]);
        for (uint32_t bin = 0; bin < WAITED; bin++)
            fprintf(file, " %" PRIu64, waited[bin]);
        fputs("\n", file);
    }
}

#endif
