/* SPDX-License-Identifier: 0BSD */
#include "kit/requantize.h"
#include "narrow.h"

/*
 * weights: for each block of taps those of all groups of four outputs, then those of the other outputs, each as w + 128. Of a group
 *   for each pair of taps two words: outputs 0 and 1, each with both taps, then outputs 2 and 3. Of an output alone four taps in
 *   a word. Blocks are filled up with taps that see 0.
 * numbers: head (lowest - highest level of the output, highest level, bits of a multiplier's low part, 0; the three numbers of
 *   aidge_kit_load_levels), then of each output in the order of the weights what its sum begins with; width, constant and
 *   multiplier of the requantization, or AIDGE_ARMV6M_GENERAL, 0 and a float.
 * order: the output that each of them is; kinds: how many of the corrections it has, or AIDGE_ARMV6M_GENERAL_KIND.
 *
 * Columns: of each pair of taps x(t) and x(t + 1) - 256 x(t), filled up to whole chunks; behind each chunk a word that turns a sum
 * for two outputs with weights + 128 into one with the weights, + 2^15 for both; behind all what does so for one output.
 */
enum { AIDGE_ARMV6M_FC_HEAD = 7 };

/* The assembly reads the first three: groups of four outputs, outputs alone, bytes of the columns but for the last word. */
typedef struct {
    int32_t paired, single, column_bytes;
    int32_t rows, features, outputs;
    int32_t block_taps, pair_words, single_words; /* words of weights in a block */
} aidge_armv6m_fc;

/* The columns of a block of inputs, of which `left` and no more are there; `units` pairs of taps in a chunk. */
AIDGE_ARMV6M_NOINLINE void aidge_armv6m_fc_columns(const int8_t *input, int32_t left, uint32_t *columns, int32_t units,
                                                   const aidge_armv6m_fc *shape)
{
    const uint32_t *const end = columns + shape->column_bytes / 4;
    uint32_t total = 0;
    while (columns != end) {
        uint32_t sum = 0;
        int32_t unit;
        for (unit = units; unit > 0; unit--) {
            const uint32_t even = left > 0 ? (uint32_t)(int32_t)input[0] : 0u;
            const uint32_t odd = left > 1 ? (uint32_t)(int32_t)input[1] : 0u;
            *columns++ = even;
            *columns++ = odd - (even << 8);
            sum += even + odd;
            input += 2;
            left -= 2;
        }
        *columns++ = 0x80008000u - 0x00800080u * sum;
        total += sum;
    }
    *columns = 0u - 128u * total;
}

/* Outputs from their sums, one as any other; those without a narrow form get a level that means nothing. Here, outputs > 0. */
#if AIDGE_ARMV6M_ASSEMBLY
AIDGE_ARMV6M_NAKED void aidge_armv6m_fc_store(AIDGE_ARMV6M_PASSED const int32_t *sums, AIDGE_ARMV6M_PASSED int8_t *output,
                                              AIDGE_ARMV6M_PASSED const int32_t *numbers, AIDGE_ARMV6M_PASSED const uint16_t *order,
                                              AIDGE_ARMV6M_PASSED int32_t outputs)
{
    __asm__(
        ".syntax unified\n"
        "    push {r4-r7, lr}\n"
        "    mov r4, r8\n"
        "    mov r5, r9\n"
        "    mov r6, r10\n"
        "    mov r7, r11\n"
        "    push {r4-r7}\n"
        "    sub sp, #8\n"
        "    mov r8, r3\n"
        "    mov r9, r1\n"
        "    ldm r2!, {r3-r5}\n" /* lowest - highest level, highest level, bits */
        "    str r3, [sp]\n"
        "    str r4, [sp, #4]\n"
        "    mov r10, r5\n"
        "    movs r3, #32\n"
        "    subs r3, r3, r5\n"
        "    mov r11, r3\n"
        "    ldr r3, [sp, #44]\n" /* outputs */
        "    lsls r3, r3, #2\n"
        "    adds r3, r3, r0\n"
        "    mov r12, r3\n"
        "    adds r2, #16\n"
        "1:\n"
        "    ldm r0!, {r4}\n"
        "    ldm r2!, {r3, r5, r6, r7}\n" /* offset, width, constant, multiplier */
        "    adds r4, r4, r3\n"
        "    cmp r4, r5\n"
        "    bhi 3f\n"
        "    mov r3, r11\n"
        "    mov r5, r7\n"
        "    lsls r5, r3\n"
        "    lsrs r5, r3\n" /* the low bits of the multiplier */
        "    mov r3, r10\n"
        "    lsrs r7, r3\n"
        "    muls r5, r4\n"
        "    lsrs r5, r3\n"
        "    muls r4, r7\n"
        "    adds r4, r4, r5\n"
        "    adds r4, r4, r6\n"
        "    lsrs r4, r4, #24\n"
        "2:\n"
        "    mov r3, r8\n"
        "    ldrh r5, [r3]\n"
        "    adds r3, #2\n"
        "    mov r8, r3\n"
        "    mov r6, r9\n"
        "    strb r4, [r6, r5]\n"
        "    cmp r0, r12\n"
        "    bne 1b\n"
        "    add sp, #8\n"
        "    pop {r4-r7}\n"
        "    mov r8, r4\n"
        "    mov r9, r5\n"
        "    mov r10, r6\n"
        "    mov r11, r7\n"
        "    pop {r4-r7, pc}\n"
        "3:\n" /* below the first step or above the last one */
        "    asrs r4, r4, #31\n"
        "    ldr r3, [sp]\n"
        "    ands r4, r3\n"
        "    ldr r3, [sp, #4]\n"
        "    adds r4, r4, r3\n"
        "    b 2b\n"
    );
}
#else
static void aidge_armv6m_fc_store(const int32_t *sums, int8_t *output, const int32_t *numbers, const uint16_t *order,
                                  int32_t outputs)
{
    const int32_t *const head = numbers;
    numbers += AIDGE_ARMV6M_FC_HEAD;
    for (; outputs > 0; outputs--) {
        output[*order++] = aidge_armv6m_narrow(*sums++ + numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2],
                                               (uint32_t)numbers[3], head);
        numbers += 4;
    }
}
#endif

/* Outputs that `aidge_armv6m_fc_store` has not got right: those with corrections, and those by the general requantization. */
AIDGE_ARMV6M_NOINLINE void aidge_armv6m_fc_correct(const int32_t *sums, int8_t *output, const int32_t *numbers,
                                                   const uint16_t *order, const uint8_t *kinds, const int32_t *corrections,
                                                   int32_t outputs)
{
    const aidge_kit_levels levels = aidge_kit_load_levels(numbers + 4);
    numbers += AIDGE_ARMV6M_FC_HEAD;
    for (; outputs > 0; outputs--) {
        if (*kinds != 0) {
            const int32_t sum = *sums + numbers[0];
            int8_t *const target = output + *order;
            int32_t left = *kinds;
            if (left == AIDGE_ARMV6M_GENERAL_KIND) {
                float multiplier;
                memcpy(&multiplier, numbers + 3, sizeof multiplier);
                *target = aidge_kit_requantize(sum, multiplier, levels);
                left = 0;
            }
            for (; left > 0; left--) {
                if (aidge_armv6m_is_corrected(sum, numbers[1], corrections) != 0) {
                    *target = (int8_t)(*target + corrections[2]);
                }
                corrections += 3;
            }
        }
        kinds++;
        order++;
        sums++;
        numbers += 4;
    }
}

#if !AIDGE_ARMV6M_ASSEMBLY
/* Groups of four outputs: the C version of the generated functions of this name. */
static void aidge_armv6m_fc_pairs_of(const uint32_t *columns, const uint32_t *weights, int32_t *sums, const aidge_armv6m_fc *shape,
                                     int32_t units)
{
    const uint32_t *const end = columns + shape->column_bytes / 4;
    int32_t group, unit, pair;
    for (group = 0; group < shape->paired; group++) {
        const uint32_t *column = columns;
        uint32_t total[2] = {0, 0};
        uint32_t high[2] = {0, 0};
        while (column != end) {
            uint32_t sum[2] = {0, 0};
            for (unit = 0; unit < units; unit++) {
                for (pair = 0; pair < 2; pair++) {
                    sum[pair] += *weights * column[0] + ((*weights >> 8) & 0x00FF00FFu) * column[1];
                    weights++;
                }
                column += 2;
            }
            for (pair = 0; pair < 2; pair++) {
                total[pair] += sum[pair] + *column;
                high[pair] += (sum[pair] + *column) >> 16;
            }
            column++;
        }
        for (pair = 0; pair < 2; pair++) {
            *sums++ += (int32_t)(total[pair] - (high[pair] << 16));
            *sums++ += (int32_t)high[pair];
        }
    }
}

/* Outputs one by one. */
static void aidge_armv6m_fc_singles_of(const uint32_t *columns, const uint32_t *weights, int32_t *sums,
                                       const aidge_armv6m_fc *shape, int32_t units)
{
    const uint32_t *const end = columns + shape->column_bytes / 4;
    int32_t left, unit;
    for (left = shape->single; left > 0; left--) {
        const uint32_t *column = columns;
        uint32_t sum = 0;
        while (column != end) {
            for (unit = 0; unit < units; unit += 2) {
                const uint32_t low = *weights & 0xFFFFu;
                sum += low * column[0] + (low >> 8) * column[1] + (*weights >> 16) * column[2] + (*weights >> 24) * column[3];
                weights++;
                column += 4;
            }
            column++;
        }
        *sums++ += (int32_t)(sum + *column);
    }
}
#endif
