/* SPDX-License-Identifier: 0BSD */
#include "kit/requantize.h"
#include "fine.h"

/*
 * weights: for each block of taps the weights of all groups of four outputs (eight on RISC-V), then of the single outputs,
 *   each as w + 128, or as w + 8. A group has, for each pair of taps, a word for each two outputs, with both taps of both; as
 *   w + 8 two such words share a word, the second one in the upper halves of the bytes. A single output has four taps in a
 *   word. Taps that see 0 fill up the blocks.
 * numbers: head (lowest - highest level of the output, highest level, bits of a multiplier's low part, 0; the three numbers of
 *   aidge_kit_load_levels), then for each output in the order of the weights the start of its sum; width, constant and
 *   multiplier of the requantization, or unit, fraction and a float: the general one scales unit * sum + fraction.
 * order: for each output in the order of the weights its number in the layer.
 * offsets: for each output in that order the offset of all its weights.
 * outliers: outputs in that order, the tap, and the excess of its weight. If there are many, runs: for each output the pairs of
 *   taps since the last outlier and the weight, and {0, 0} at the end; a weight of 0 only moves on.
 * marks: outputs in that order and the number of their corrections, or AIDGE_KIT_NARROW_GENERAL_KIND.
 *
 * If the sums of only some outputs, a piece, are in memory at a time (fc.py), outliers and marks number the outputs of each
 * piece, AIDGE_KIT_NARROW_FC_END ends the list of each piece, and taps are counted in bytes of the columns: a tap's first byte
 * is the input.
 *
 * Columns: a word for each pair of taps a and b (fc.py), on RISC-V the even tap and 2^24 times the odd one, filled up to whole
 * chunks; after all of them a word that turns a sum of one output with weights + `above` into the sum with the weights; then a
 * word for each chunk that does so for two outputs, + 2^15 for both.
 */
enum {
    AIDGE_KIT_NARROW_FC_HEAD = 7,
    AIDGE_KIT_NARROW_FC_MOST_TAPS = 32,
    AIDGE_KIT_NARROW_FC_MARK = 2,
    AIDGE_KIT_NARROW_FC_OUTLIER = 3,
    AIDGE_KIT_NARROW_FC_END = -1
};

#define AIDGE_KIT_NARROW_FC_HALVES 0x80008000u

/* The numbers of a layer: taps of each block but the last one, and of all; words before the sums, taps of the shortest chunks;
 * groups of outputs with chunks of 2, 4, 8 or 16 pairs of taps; single outputs; outputs with sums in memory at a time. */
typedef struct {
    int32_t rows, features, outputs, block_taps, taps, column_words, chunk;
    int32_t groups_2, groups_4, groups_8, groups_16, singles, piece;
} aidge_kit_narrow_fc;

/* A block of taps, as the assembly reads it; it moves on `sums` and `weights`. */
typedef struct {
    const uint32_t *columns;
    uint32_t *corrections;
    const uint32_t *end; /* of the columns */
    int32_t *sums_end;
    int32_t *sums;
    const uint32_t *weights;
} aidge_kit_narrow_fc_block;

/* Outputs with known sums, as the assembly reads them. */
typedef struct {
    int8_t *output;
    const int32_t *head;
    const int32_t *numbers;
    const uint16_t *order;
} aidge_kit_narrow_fc_outputs;

/* The columns of a block of inputs, of which `left` and no more are there, and the words of its shortest chunks; weights are
 * stored as w + `above`. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_fc_columns(const int8_t *input, int32_t left, uint32_t above,
                                                   aidge_kit_narrow_fc_block *block, const aidge_kit_narrow_fc *shape)
{
    uint32_t *column = (uint32_t *)(uintptr_t)block->columns;
    uint32_t *const end = (uint32_t *)(uintptr_t)block->end;
    const int32_t chunk = shape->chunk;
    uint32_t *correction = end + 1;
    uint32_t total = 0;
    int8_t last[AIDGE_KIT_NARROW_FC_MOST_TAPS];
    block->corrections = correction;
    while (column != end) {
        const int8_t *stop;
        uint32_t sum = 0;
        if (left < chunk) {
            (void)memset(last, 0, sizeof last);
            (void)memcpy(last, input, left > 0 ? (uint32_t)left : 0u);
            input = last;
        }
        stop = input + chunk;
        do {
            const uint32_t even = (uint32_t)(int32_t)*input++;
            const uint32_t odd = (uint32_t)(int32_t)*input++;
#if defined(__riscv)
            *column++ = even;
            *column++ = odd << 24;
#else
            const uint32_t a = even - (odd << 8);
            const uint32_t b = odd - (even << 8);
            *column++ = a + (a << 16);
            *column++ = b + (b << 16);
#endif
            sum += even + odd;
        } while (input != stop);
        *correction++ = AIDGE_KIT_NARROW_FC_HALVES - (above << 16 | above) * sum;
        total += sum;
        left -= chunk;
    }
    *end = 0u - above * total;
}

/* Chunks of `units` pairs of taps out of `ratio` chunks each. */
AIDGE_KIT_NOINLINE void aidge_kit_narrow_fc_join(aidge_kit_narrow_fc_block *block, int32_t units, int32_t ratio)
{
    const uint32_t *column;
    const uint32_t *source = block->corrections;
    uint32_t *target = block->corrections;
    for (column = block->columns; column != block->end; column += 2 * units) {
        uint32_t sum = *source++;
        int32_t left;
        for (left = ratio - 1; left > 0; left--) {
            sum += *source++ - AIDGE_KIT_NARROW_FC_HALVES;
        }
        *target++ = sum;
    }
}

/* Makes room for the sums of the next outputs, at most `left`. Returns how many they are. The assembly for RISC-V begins its
 * sums itself. */
AIDGE_KIT_NOINLINE int32_t aidge_kit_narrow_fc_begin(aidge_kit_narrow_fc_block *block, int32_t *sums, int32_t left, int32_t piece)
{
    const int32_t count = left < piece ? left : piece;
    block->sums = sums;
    block->sums_end = sums + count;
#if !defined(__riscv)
    (void)memset(sums, 0, (uint32_t)count * sizeof *sums);
#endif
    return count;
}

/* Adds to each sum the offset of its weights times the sum of the block's inputs. Returns the end of the offsets. */
AIDGE_KIT_NOINLINE const int8_t *aidge_kit_narrow_fc_add_offsets(const aidge_kit_narrow_fc_block *block, int32_t *sums,
                                                                 const int8_t *offsets, int32_t outputs)
{
    const int32_t total = -((int32_t)*block->end / 128);
    for (; outputs > 0; outputs--) {
        *sums++ += *offsets++ * total;
    }
    return offsets;
}

/* Adds the weights that are stored apart from the others. Returns their end. */
AIDGE_KIT_NOINLINE const int16_t *aidge_kit_narrow_fc_add_outliers(const int8_t *input, int32_t *sums, const int16_t *outliers)
{
    for (; outliers[0] != AIDGE_KIT_NARROW_FC_END; outliers += AIDGE_KIT_NARROW_FC_OUTLIER) {
        sums[outliers[0]] += input[outliers[1]] * outliers[2];
    }
    return outliers + AIDGE_KIT_NARROW_FC_OUTLIER;
}

AIDGE_KIT_NOINLINE const int8_t *aidge_kit_narrow_fc_add_runs(const int8_t *input, int32_t *sums, const int8_t *runs,
                                                              int32_t outputs)
{
    for (; outputs > 0; outputs--) {
        const int8_t *value = input;
        int32_t sum = *sums;
        int32_t taps = *runs++;
        int32_t weight = *runs++;
        while ((taps | weight) != 0) {
            value += taps;
            sum += *value * weight;
            taps = *runs++;
            weight = *runs++;
        }
        *sums++ = sum;
    }
    return runs;
}

/* Corrects outputs that `aidge_kit_narrow_fc_store` leaves inexact: by corrections, and moves `corrections` on, or by the
 * general requantization. Returns the end of the marks. */
AIDGE_KIT_NOINLINE const uint16_t *aidge_kit_narrow_fc_correct(const int32_t *sums, const aidge_kit_narrow_fc_outputs *target,
                                                              const uint16_t *marks, const int32_t **corrections)
{
    const aidge_kit_levels levels = aidge_kit_load_levels(target->head + 4);
    for (; marks[0] != (uint16_t)AIDGE_KIT_NARROW_FC_END; marks += AIDGE_KIT_NARROW_FC_MARK) {
        const int32_t *const own = target->numbers + 4 * (int32_t)marks[0];
        const int32_t sum = sums[marks[0]] + own[0];
        int8_t *const value = target->output + target->order[marks[0]];
        int32_t left = marks[1];
        if (left == AIDGE_KIT_NARROW_GENERAL_KIND) {
            float multiplier;
            (void)memcpy(&multiplier, own + 3, sizeof multiplier);
            *value = aidge_kit_requantize(aidge_kit_narrow_fine(sum, own[1], own[2]), multiplier, levels);
            left = 0;
        }
        for (; left > 0; left--) {
            if (aidge_kit_narrow_is_corrected(sum, own[1], *corrections) != 0) {
                *value = (int8_t)(*value + (*corrections)[2]);
            }
            *corrections += 3;
        }
    }
    return marks + AIDGE_KIT_NARROW_FC_MARK;
}

