/* SPDX-License-Identifier: 0BSD */
#include "kit/requantize.h"
#include "target.h"

/*
 * The stream of words that the dense kernels read.
 *
 * Head: (zero point + 128) twice as int16; limits + 128 of the output as two int16; the input's zero point
 * in each byte.
 * Then for each group of 4 output channels: 4 biases; for each pair of taps 2 words (packed) or 4 words (wide);
 * 2 * first channel + form; 4 float multipliers (form 0), or for each pair of channels 2 multipliers and a constant (form 1).
 * Where all groups have one form and follow each other, the word before the multipliers is left out (`form` >= 0 below).
 * `form` -2: two words follow the float multipliers, so that streams of as many groups are as long as each other.
 * For a core without an FPU 4 factors (kit/near.h) stand before the multipliers of form 0, which are divided by nothing: `form`
 *   2 where all groups have it, -3 where the stream says the form, -4 where two words follow the integer form, too.
 *   Where biases have fractions, 4 starts stand behind the factors, and behind the multipliers of sums in fractions of a unit 4
 *   such fractions; the bits of one are above the other numbers that C versions know. -4: then 10 words follow the integer form.
 * Fixed-point factors (arithmetic/fixed_form.py) stand before the multipliers of form 0 as multiplier, constant and shift of each
 *   channel, and are all that stands there: `form` 3 where all groups have it, -5 where the stream says the form, -6 where 6
 *   words, or 4 behind levels as words of wide sums, follow the integer form, too. They give levels + 128.
 * Packed: each halfword is 256 * (weight of the odd channel) + weight of the even channel; the bias of an odd channel is
 *   256 * its own + offset + that of the even channel, so that the sum modulo 2^32 separates exactly.
 * Packed and centred: where a group has form 0, the bias of an odd channel is less by 256 times the middle of the range of its
 *   sums, whatever that is; the middles of both odd channels stand before the factors, in place of the two words of `form` -2, and
 *   the multipliers are those of sums as they are.
 * Uniform (fully connected layers of form 0 alone): the multipliers of a group follow the head, and stand in none.
 * Joined (form 0 alone): 6 words stand in place of the biases, and no multipliers behind the weights. Of each channel the low 4 bits
 *   of its own bias lie below the 28 bits of its multiplier's pattern, less AIDGE_CORTEXM_JOINED_BASE, and in two words the upper 16.
 * Wide: a word per channel, a halfword per tap.
 * Bytes (fully connected layers): for each 4 taps a word per channel, a byte per tap; all else is as if weights were wide.
 * Of fewer than 4 channels the last one stands for those that lack; of one or two, the weights of the group's other half are left
 *   out.
 * Form 0: multipliers of odd channels are divided by 256 if packed. Where biases have fractions, two words are in front of the
 *   multipliers: what is added to 256 times the sum of each even channel; all multipliers are then divided by 256.
 * Where levels leave as words, channels 1 and 2 of a group have changed places; form 1 gives levels + 128, for sums 0 and 2 without
 *   a shift; and wide sums have a constant each, two behind the two multipliers.
 * Curved: 2 factors and 2 biases of each pair of channels, float32 (of odd channels packed: a 256th of the factor), stand in place
 *   of the multipliers; behind the groups the words of a function (aidge_cortexm_curved). The head holds what numbers are raised and
 *   lowered by instead of zero point and limits. Before the factors a word: the first channel, and above 16 bits how many words
 *   from there the middle of these words is. `form`: AIDGE_CORTEXM_CURVE.
 * Form 1: the generator has proved that hi32(sum * multiplier) (+ constant), shifted right, equals the float formula for every
 *   possible sum.
 */
enum { AIDGE_CORTEXM_HEAD_WORDS = 3 };

/* What the C versions know of a stream: two weights in a halfword; fractions of the biases of even channels stand before the
 * multipliers of form 0; levels leave as words; fixed-point factors round once; centred sums; times how many channels
 * there are, if fewer than 4; bytes; one factor; joined. */
enum { AIDGE_CORTEXM_PACKED = 1, AIDGE_CORTEXM_FRACTIONS = 2, AIDGE_CORTEXM_WORDS = 4, AIDGE_CORTEXM_ONCE = 8,
       AIDGE_CORTEXM_CENTRED = 16, AIDGE_CORTEXM_FEW = 32, AIDGE_CORTEXM_BYTES = 128,
       AIDGE_CORTEXM_UNIFORM = 256, AIDGE_CORTEXM_JOINED = 512, AIDGE_CORTEXM_BITS = 1024 };

enum { AIDGE_CORTEXM_JOINED_BASE = 0x30000000 };

/* (a * b) >> 32. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_high_product(int32_t a, int32_t b)
{
    return (int32_t)(aidge_kit_multiply_s64(a, b) >> 32);
}

AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_clamp(int32_t value, int32_t lowest, int32_t highest)
{
    value = value < lowest ? lowest : value;
    return value > highest ? highest : value;
}

AIDGE_CORTEXM_INLINE float aidge_cortexm_as_float(uint32_t bits)
{
    float value;
    (void)memcpy(&value, &bits, sizeof value);
    return value;
}

/* The stored value of one sum by integers. */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_proved(int32_t sum, int32_t factor, int32_t constant, int32_t shift)
{
    return (int8_t)aidge_cortexm_clamp((aidge_cortexm_high_product(sum, factor) + constant) >> shift, -128, 127);
}

/* A stored value within the limits of the head as above. */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_limited(int8_t level, const int32_t *head)
{
    return (int8_t)(aidge_cortexm_clamp(level + 128, aidge_cortexm_low((uint32_t)head[1]), aidge_cortexm_high((uint32_t)head[1]))
                    - 128);
}

/* The stored value of one sum by the float formula; head as above. */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_rounded(int32_t sum, int32_t factor, const int32_t *head)
{
    int32_t level = aidge_cortexm_clamp(aidge_kit_scale(sum, aidge_cortexm_as_float((uint32_t)factor)), -32768, 32767);
    level = aidge_cortexm_clamp(level + aidge_cortexm_low((uint32_t)head[0]), aidge_cortexm_low((uint32_t)head[1]),
                                aidge_cortexm_high((uint32_t)head[1]));
    return (int8_t)(level - 128);
}

/* The stored value of one sum by a fixed-point factor {multiplier, constant, shift}; head as above. */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_fixed(int32_t sum, const int32_t *factor, int32_t packed, const int32_t *head)
{
    const int64_t product = 2 * aidge_kit_multiply_s64(sum, factor[0]);
    const int32_t high = (packed & AIDGE_CORTEXM_ONCE) != 0
        ? (int32_t)(product >> 32) : (int32_t)((product + 0x80000000u) >> 32) - (sum < 0 ? 1 : 0);
    return (int8_t)(aidge_cortexm_clamp((high + factor[1]) >> factor[2], aidge_cortexm_low((uint32_t)head[1]),
                                        aidge_cortexm_high((uint32_t)head[1])) - 128);
}

#if AIDGE_CORTEXM_ASSEMBLY
/*
 * The stored value of one sum by the float formula, in integers, for assembly without an FPU beside the middle of two levels:
 * as aidge_cortexm_rounded. r2: sum, r3: multiplier (its bits), r12: head as above. The level is left in r2; r3 is lost.
 */
AIDGE_CORTEXM_NAKED void aidge_cortexm_round_sum(void)
{
    __asm__(
        ".syntax unified\n"
        "    push {r0, r1, r4}\n"
        "    movs r0, r2\n"
        "    it mi\n"
        "    rsbmi r2, r2, #0\n"            /* its magnitude */
        "    clz r1, r2\n"
        "    lsl r2, r2, r1\n"              /* bit 31 is the highest */
        "    ubfx r4, r2, #8, #1\n"
        "    add r4, r4, #0x7f\n"
        "    adds r2, r2, r4\n"             /* half to even, to 24 bits */
        "    bic r2, r2, #0xff\n"
        "    itt cs\n"
        "    movcs r2, #0x80000000\n"
        "    subcs r1, r1, #1\n"
        "    lsr r4, r3, #23\n"             /* exponent + 127 */
        "    sub r1, r4, r1\n"
        "    lsl r3, r3, #8\n"
        "    orr r3, r3, #0x80000000\n"     /* a multiplier below 2^-126 becomes another one, but no sum gives half a level */
        "    umull r4, r2, r2, r3\n"
        "    cmp r2, #0\n"
        "    itttt pl\n"
        "    lslpl r2, r2, #1\n"
        "    orrpl r2, r2, r4, lsr #31\n"
        "    lslpl r4, r4, #1\n"
        "    subpl r1, r1, #1\n"
        "    cmp r4, #0\n"
        "    it ne\n"
        "    orrne r2, r2, #1\n"            /* something is left */
        "    ubfx r4, r2, #8, #1\n"
        "    add r4, r4, #0x7f\n"
        "    adds r2, r2, r4\n"             /* half to even, to 24 bits */
        "    bic r2, r2, #0xff\n"
        "    itt cs\n"
        "    movcs r2, #0x80000000\n"
        "    addcs r1, r1, #1\n"
        "    rsb r1, r1, #126\n"            /* the product is r2 / 2^r1 */
        "    cmp r1, #22\n"
        "    it lt\n"
        "    movlt r1, #22\n"               /* 512 saturates as well as more */
        "    rsb r3, r1, #32\n"
        "    lsl r3, r2, r3\n"              /* what is shifted out */
        "    lsr r2, r2, r1\n"
        "    and r4, r2, #1\n"
        "    add r3, r3, r4\n"
        "    cmp r3, #0x80000000\n"
        "    it hi\n"
        "    addhi r2, r2, #1\n"            /* half to even, to an integer */
        "    cmp r0, #0\n"
        "    it lt\n"
        "    rsblt r2, r2, #0\n"
        "    ldrh r3, [r12]\n"
        "    ldrh r0, [r12, #4]\n"
        "    ldrh r1, [r12, #6]\n"
        "    add r2, r2, r3\n"
        "    cmp r2, r0\n"
        "    it lt\n"
        "    movlt r2, r0\n"
        "    cmp r2, r1\n"
        "    it gt\n"
        "    movgt r2, r1\n"
        "    sub r2, r2, #128\n"
        "    pop {r0, r1, r4}\n"
        "    bx lr\n"
    );
}

/* The same of the 4 sums r4 to r7, which are lost as r2 and r3: to r0, with the multipliers 16 bytes behind r1. */
AIDGE_CORTEXM_NAKED void aidge_cortexm_round_group(void)
{
    __asm__(
        ".syntax unified\n"
        "    push {r8, lr}\n"
        "    mov r8, #4\n"
        "1:\n"
        "    mov r2, r4\n"
        "    mov r4, r5\n"
        "    mov r5, r6\n"
        "    mov r6, r7\n"
        "    ldr r3, [r1, #16]\n"
        "    adds r1, r1, #4\n"
    );
    __asm__("    bl %c0\n" : : "i"(aidge_cortexm_round_sum));
    __asm__(
        ".syntax unified\n"
        "    strb r2, [r0], #1\n"
        "    subs r8, r8, #1\n"
        "    bne 1b\n"
        "    subs r0, r0, #4\n"
        "    subs r1, r1, #16\n"
        "    pop {r8, pc}\n"
    );
}
#endif

#if AIDGE_CORTEXM_FPU
/* A group's biases to r8 to r11 and multipliers to s4 to s7 from its 6 joined words at r1, which moves on; r4 to r7, r12 are lost. */
AIDGE_CORTEXM_NAKED void aidge_cortexm_joined_group(void)
{
    __asm__(
        ".syntax unified\n"
        "    ldm r1!, {r4-r9}\n"
        "    mov r12, #0x30000000\n"
        "    asr r11, r9, #12\n"
        "    bfi r11, r7, #0, #4\n"
        "    sxth r10, r9\n"
        "    lsl r10, r10, #4\n"
        "    bfi r10, r6, #0, #4\n"
        "    asr r9, r8, #12\n"
        "    bfi r9, r5, #0, #4\n"
        "    sxth r8, r8\n"
        "    lsl r8, r8, #4\n"
        "    bfi r8, r4, #0, #4\n"
        "    add r4, r12, r4, lsr #4\n"
        "    add r5, r12, r5, lsr #4\n"
        "    add r6, r12, r6, lsr #4\n"
        "    add r7, r12, r7, lsr #4\n"
        "    vmov s4, s5, r4, r5\n"
        "    vmov s6, s7, r6, r7\n"
        "    bx lr\n"
    );
}
#endif

/* A group's biases, with those of even channels in those of odd ones if packed. Returns where its weights begin. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_biases(const int32_t *group, uint32_t *biases, int32_t packed)
{
    const uint32_t *const words = (const uint32_t *)group;
    int32_t i;
    if ((packed & AIDGE_CORTEXM_JOINED) == 0) {
        for (i = 0; i < 4; i++) {
            biases[i] = words[i];
        }
        return group + 4;
    }
    for (i = 0; i < 4; i++) {
        const int32_t high = (i & 1) == 0 ? aidge_cortexm_low(words[4 + i / 2]) : aidge_cortexm_high(words[4 + i / 2]);
        biases[i] = ((uint32_t)high << 4) | (words[i] & 15u);
    }
    if ((packed & AIDGE_CORTEXM_PACKED) != 0) {
        biases[1] = (biases[1] << 8) + biases[0];
        biases[3] = (biases[3] << 8) + biases[2];
    }
    return group + 6;
}

/* Where the activations of a pixel lie, in words: `planes` times `step` apart, in each plane those of `taps` [count]. */
typedef struct {
    int32_t planes, step, count;
    const int32_t *taps;
} aidge_cortexm_taps;

enum { AIDGE_CORTEXM_CURVE = -8 };

/*
 * The level of a sum by way of float32 and a whole number (arithmetic/carried_steps.py). Factor and bias are patterns of
 * floats; `words` are those of the function, from the middle on; shift: the bits of a cell.
 */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_curved(int32_t sum, int32_t factor, int32_t bias, const int32_t *head,
                                                 const int32_t *words, int32_t shift)
{
    const float number = aidge_cortexm_kept((float)sum * aidge_cortexm_as_float((uint32_t)factor))
                   + aidge_cortexm_as_float((uint32_t)bias);
    int64_t fixed;
    int32_t entry;
    uint32_t level;
    fixed = number >= 2147483648.0f ? 2147483647 : number < -2147483648.0f ? -2147483647 - 1 : (int32_t)number;
    fixed += head[0];
    fixed = (fixed > 2147483647 ? 2147483647 : fixed) - head[1];
    fixed = fixed < -2147483647 - 1 ? -2147483647 - 1 : fixed;
    entry = words[fixed >> shift];
    level = ((uint32_t)entry + (entry < 0 ? ~(uint32_t)fixed : (uint32_t)fixed)) >> shift;
    return (int8_t)((int32_t)((level & 0xFFu) ^ 0x80u) - 128);
}

/*
 * The stored values of a group of channels from their sums; `start` points to its begin, `group` behind its weights. Returns its end.
 * packed: AIDGE_CORTEXM_PACKED and others.
 */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_four_levels(uint32_t sum0, uint32_t sum1, uint32_t sum2, uint32_t sum3,
                                                              const int32_t *start, const int32_t *group, int8_t *output,
                                                              const int32_t *head, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t is_fixed = (int32_t)((form == 3) || (form < -4));
    const int32_t bits = packed / AIDGE_CORTEXM_BITS;
    const int32_t is_whole = (int32_t)((form == 2) || (form < -2));
    const int32_t whole = is_whole == 0 ? 0 : bits != 0 ? 8 : 4; /* words before the multipliers, which are whole */
    const int32_t is_packed = packed & AIDGE_CORTEXM_PACKED;
    const int32_t words = packed & AIDGE_CORTEXM_WORDS;
    const int32_t own = ((words != 0) && (is_packed == 0)) ? 1 : 0; /* constants of odd sums */
    const int32_t centres = (packed & AIDGE_CORTEXM_CENTRED) != 0 ? 2 : 0;
    const int32_t integers = form == -6 ? 12 + centres : form == -4 ? 2 * whole + centres : own != 0 ? 8 : 6;
    const int32_t more = packed & (AIDGE_CORTEXM_FRACTIONS | AIDGE_CORTEXM_CENTRED); /* in place of two words */
    const int32_t floats = whole != 0 ? 2 * whole : (form == -2) && (more == 0) ? integers : 4;
    const int32_t is_ahead = packed & (AIDGE_CORTEXM_UNIFORM | AIDGE_CORTEXM_JOINED); /* the multipliers are not behind weights */
    const int32_t *factors;
    int32_t joined[4];
    int8_t *second;
    int8_t *third;
    int32_t is_proved = (int32_t)(form == 1);
    if (is_packed != 0) {
        sum1 -= sum0;
        sum3 -= sum2;
    }
    if (form == AIDGE_CORTEXM_CURVE) {
        const int32_t *const middle = group + ((uint32_t)*group >> 16);
        output += *group++ & 0xFFFF;
        output[0] = aidge_cortexm_curved((int32_t)sum0, group[0], group[2], head, middle, shift);
        output[1] = aidge_cortexm_curved((int32_t)sum1, group[1], group[3], head, middle, shift);
        output[2] = aidge_cortexm_curved((int32_t)sum2, group[4], group[6], head, middle, shift);
        output[3] = aidge_cortexm_curved((int32_t)sum3, group[5], group[7], head, middle, shift);
        return group + 8;
    }
    if (form < 0) {
        is_proved = *group & 1;
        output += *group++ >> 1;
    }
    second = output + (words != 0 ? 2 : 1);
    third = output + (words != 0 ? 1 : 2);
    if (is_proved != 0) {
        const int32_t high_shift = is_packed != 0 ? shift + 8 : shift;
        const int32_t low_shift = words != 0 ? 0 : shift;
        const int32_t low_above = words != 0 ? 128 : 0; /* is in the constants */
        const int32_t high_above = words != 0 ? 128 << high_shift : 0;
        const int32_t *next = group + 3 + own;
        output[0] = aidge_cortexm_proved((int32_t)sum0, group[0], group[2] - low_above, low_shift);
        *second = aidge_cortexm_proved((int32_t)sum1, group[1], (is_packed != 0 ? 0 : group[2 + own]) - high_above, high_shift);
        *third = aidge_cortexm_proved((int32_t)sum2, next[0], next[2] - low_above, low_shift);
        output[3] = aidge_cortexm_proved((int32_t)sum3, next[1], (is_packed != 0 ? 0 : next[2 + own]) - high_above, high_shift);
        output[0] = aidge_cortexm_limited(output[0], head);
        output[1] = aidge_cortexm_limited(output[1], head);
        output[2] = aidge_cortexm_limited(output[2], head);
        output[3] = aidge_cortexm_limited(output[3], head);
        return group + integers;
    }
    if (centres != 0) {
        sum1 = (uint32_t)((int32_t)sum1 >> 8) + (uint32_t)group[0];
        sum3 = (uint32_t)((int32_t)sum3 >> 8) + (uint32_t)group[1];
        group += centres;
    } else if (((whole != 0) || (is_fixed != 0)) && (is_packed != 0)) {
        sum1 = (uint32_t)((int32_t)sum1 >> 8);
        sum3 = (uint32_t)((int32_t)sum3 >> 8);
    } else {
        /* no sum has the bits of another above it */
    }
    if (is_fixed != 0) {
        output[0] = aidge_cortexm_fixed((int32_t)sum0, group, packed, head);
        *second = aidge_cortexm_fixed((int32_t)sum1, group + 3, packed, head);
        *third = aidge_cortexm_fixed((int32_t)sum2, group + 6, packed, head);
        output[3] = aidge_cortexm_fixed((int32_t)sum3, group + 9, packed, head);
        return group + 12;
    }
    if (bits != 0) {
        sum0 = (sum0 << bits) + (uint32_t)group[12];
        sum1 = (sum1 << bits) + (uint32_t)group[13];
        sum2 = (sum2 << bits) + (uint32_t)group[14];
        sum3 = (sum3 << bits) + (uint32_t)group[15];
    } else if ((packed & AIDGE_CORTEXM_FRACTIONS) != 0) {
        sum0 = (sum0 << 8) + (uint32_t)*group++;
        sum2 = (sum2 << 8) + (uint32_t)*group++;
    } else {
        /* the sums are as they are */
    }
    factors = (packed & AIDGE_CORTEXM_UNIFORM) != 0 ? head + AIDGE_CORTEXM_HEAD_WORDS : group + whole;
    if ((packed & AIDGE_CORTEXM_JOINED) != 0) {
        int32_t i;
        for (i = 0; i < 4; i++) {
            joined[i] = (int32_t)(((uint32_t)start[i] >> 4) + (uint32_t)AIDGE_CORTEXM_JOINED_BASE);
        }
        factors = joined;
    }
    output[0] = aidge_cortexm_rounded((int32_t)sum0, factors[0], head);
    *second = aidge_cortexm_rounded((int32_t)sum1, factors[1], head);
    *third = aidge_cortexm_rounded((int32_t)sum2, factors[2], head);
    output[3] = aidge_cortexm_rounded((int32_t)sum3, factors[3], head);
    return is_ahead != 0 ? group : group + floats;
}

/* The same of as many channels as there are. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_store_group(uint32_t sum0, uint32_t sum1, uint32_t sum2, uint32_t sum3,
                                                              const int32_t *start, const int32_t *group, int8_t *output,
                                                              const int32_t *head, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t few = (packed / AIDGE_CORTEXM_FEW) & 3;
    int8_t levels[4];
    if (few == 0) {
        return aidge_cortexm_four_levels(sum0, sum1, sum2, sum3, start, group, output, head, packed, shift, form);
    }
    group = aidge_cortexm_four_levels(sum0, sum1, sum2, sum3, start, group, levels, head, packed, shift, form);
    (void)memcpy(output, levels, (uint32_t)few);
    return group;
}

/* Whether only the first two channels of a group have weights. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_is_half(int32_t packed)
{
    const int32_t few = (packed / AIDGE_CORTEXM_FEW) & 3;
    return (int32_t)((few == 1) || (few == 2));
}

/* The sums of a group of channels at one pixel, of two channels if weights are wide; `group` points to its weights. Returns their end. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_sums(const uint32_t *column, const aidge_cortexm_taps *taps, const int32_t *group,
                                                       uint32_t *sums, int32_t packed)
{
    uint32_t sum0 = sums[0];
    uint32_t sum1 = sums[1];
    uint32_t sum2 = sums[2];
    uint32_t sum3 = sums[3];
    int32_t plane, tap;
    for (plane = taps->planes; plane > 0; plane--) {
        for (tap = 0; tap < taps->count; tap++) {
            const uint32_t x = column[taps->taps[tap]];
            if (aidge_cortexm_is_half(packed) != 0) {
                sum0 = aidge_cortexm_dot((uint32_t)group[0], x, sum0);
                sum1 = aidge_cortexm_dot((uint32_t)group[1], x, sum1);
                group += 2;
            } else if ((packed & AIDGE_CORTEXM_PACKED) != 0) {
                const uint32_t w0 = (uint32_t)group[0];
                const uint32_t w1 = (uint32_t)group[1];
                sum1 = aidge_cortexm_dot(w0, x, sum1);
                sum3 = aidge_cortexm_dot(w1, x, sum3);
                sum0 = aidge_cortexm_dot(aidge_cortexm_even_bytes(w0), x, sum0);
                sum2 = aidge_cortexm_dot(aidge_cortexm_even_bytes(w1), x, sum2);
                group += 2;
            } else {
                sum0 = aidge_cortexm_dot((uint32_t)group[0], x, sum0);
                sum1 = aidge_cortexm_dot((uint32_t)group[1], x, sum1);
                sum2 = aidge_cortexm_dot((uint32_t)group[2], x, sum2);
                sum3 = aidge_cortexm_dot((uint32_t)group[3], x, sum3);
                group += 4;
            }
        }
        column += taps->step;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
    return group;
}

/* One group of channels at one pixel. Returns the end of the group. Not every model that has this header calls it. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_group(const uint32_t *column, const aidge_cortexm_taps *taps,
                                                          const int32_t *group, int8_t *output, const int32_t *head,
                                                          int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const start = group;
    uint32_t sums[4];
    group = aidge_cortexm_biases(group, sums, packed);
    group = aidge_cortexm_sums(column, taps, group, sums, packed);
    return aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], start, group, output, head, packed, shift, form);
}

/* The sums of two channels at two pixels, with packed weights that lie `step` words apart. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_packed_sums(const uint32_t *column, int32_t second, const aidge_cortexm_taps *taps,
                                                    const int32_t *weights, int32_t step, uint32_t *first_sums,
                                                    uint32_t *second_sums)
{
    uint32_t a = first_sums[0];
    uint32_t b = first_sums[1];
    uint32_t c = second_sums[0];
    uint32_t d = second_sums[1];
    int32_t plane, tap;
    for (plane = taps->planes; plane > 0; plane--) {
        const uint32_t *const next = column + second;
        for (tap = 0; tap < taps->count; tap++) {
            const int32_t place = taps->taps[tap];
            const uint32_t w = (uint32_t)*weights;
            const uint32_t even = aidge_cortexm_even_bytes(w);
            const uint32_t x = column[place];
            const uint32_t y = next[place];
            a = aidge_cortexm_dot(even, x, a);
            b = aidge_cortexm_dot(w, x, b);
            c = aidge_cortexm_dot(even, y, c);
            d = aidge_cortexm_dot(w, y, d);
            weights += step;
        }
        column += taps->step;
    }
    first_sums[0] = a;
    first_sums[1] = b;
    second_sums[0] = c;
    second_sums[1] = d;
}

/* One group of channels at two pixels, `second` words apart: the weights are read once where they are packed. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_two_groups(const uint32_t *column, int32_t second,
                                                               const aidge_cortexm_taps *taps, const int32_t *group,
                                                               int8_t *output, int32_t second_output, const int32_t *head,
                                                               int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const start = group;
    uint32_t sums[8] = {0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u};
    group = aidge_cortexm_biases(group, sums, packed);
    (void)memcpy(sums + 4, sums, 16);
    if ((packed & AIDGE_CORTEXM_PACKED) != 0) {
        const int32_t step = aidge_cortexm_is_half(packed) != 0 ? 1 : 2;
        aidge_cortexm_packed_sums(column, second, taps, group, step, sums, sums + 4);
        if (step > 1) {
            aidge_cortexm_packed_sums(column, second, taps, group + 1, step, sums + 2, sums + 6);
        }
        group += step * taps->planes * taps->count;
    } else {
        (void)aidge_cortexm_sums(column, taps, group, sums, packed);
        group = aidge_cortexm_sums(column + second, taps, group, sums + 4, packed);
    }
    (void)aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], start, group, output, head, packed, shift, form);
    return aidge_cortexm_store_group(sums[4], sums[5], sums[6], sums[7], start, group, output + second_output, head, packed, shift,
                                     form);
}
