/* SPDX-License-Identifier: 0BSD */
#include "kit/requantize.h"
#include "core/target.h"

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
 * Packed with offsets (offset_weights.py): weights of even channels are unsigned bytes, those of odd channels 128 more than in the
 *   stream. Behind the other pairs of taps some pairs hold the negated sum of all others; their weight is the offset of each channel.
 * Packed and centred: where a group has form 0, the bias of an odd channel is less by 256 times the middle of the range of its
 *   sums, whatever that is; the middles of both odd channels stand before the factors, in place of the two words of `form` -2, and
 *   the multipliers are those of sums as they are.
 * Uniform (fully connected layers of form 0 alone): the multipliers of a group follow the head, and stand in none.
 * Joined (form 0 alone): 6 words stand in place of the biases, and no multipliers behind the weights. Of each channel the low 4 bits
 *   of its own bias lie below the 28 bits of its multiplier's pattern, less AIDGE_CORTEXM_JOINED_BASE, and in two words the upper 16.
 * Paired (fully connected layers, paired_inputs.py): the biases of even channels (packed) or of all (bytes) are less by products of
 *   weights: of each 4 taps the first with the second, and the third with the fourth; those of the negated sum excepted.
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
 *   from there the middle of these words is. `form`: AIDGE_CORTEXM_CURVE. Or, without floats, AIDGE_CORTEXM_PRODUCTS: multiplier
 *   and constant of each channel; the head says how far sums go to the left, and how many bits numbers have; the words begin there.
 * Form 1: the generator has proved that hi32(sum * multiplier) (+ constant), shifted right, equals the float formula for every
 *   possible sum.
 */
enum { AIDGE_CORTEXM_HEAD_WORDS = 3 };

/* What the C versions know of a stream: the sum of these. The last three stand for numbers: times 1 to 3 channels, if fewer than 4;
 * times the bits of fractions; times the pairs of taps that hold negated sums (offset_weights.py), 0 if weights have no offsets. */
enum {
    AIDGE_CORTEXM_PACKED = 1,     /* two weights in a halfword */
    AIDGE_CORTEXM_FRACTIONS = 2,  /* fractions of the biases of even channels stand before the multipliers of form 0 */
    AIDGE_CORTEXM_WORDS = 4,      /* levels leave as words */
    AIDGE_CORTEXM_ONCE = 8,       /* fixed-point factors round once */
    AIDGE_CORTEXM_CENTRED = 16,
    AIDGE_CORTEXM_BYTES = 32,
    AIDGE_CORTEXM_UNIFORM = 64,
    AIDGE_CORTEXM_JOINED = 128,
    AIDGE_CORTEXM_PAIRED = 256,   /* products of pairs of inputs: biases are less by products of weights */
    AIDGE_CORTEXM_FEW = 512,
    AIDGE_CORTEXM_BITS = 2048,
    AIDGE_CORTEXM_SUMS = 16384
};

enum { AIDGE_CORTEXM_CURVE = -8, AIDGE_CORTEXM_PRODUCTS = -9, AIDGE_CORTEXM_JOINED_BASE = 0x30000000 };

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
AIDGE_KIT_NAKED void aidge_cortexm_round_sum(void)
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
AIDGE_KIT_NAKED void aidge_cortexm_round_group(void)
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
AIDGE_KIT_NAKED void aidge_cortexm_joined_group(void)
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

/* How many channels of a group there are. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_channels(int32_t packed)
{
    const int32_t few = (packed / AIDGE_CORTEXM_FEW) & 3;
    return few != 0 ? few : 4;
}

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
 * The same without floats (arithmetic/curved_products.py): `left` is how far the sum goes to the left; of the head the second word
 * is how many bits a number has.
 */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_product_level(int32_t sum, int32_t multiplier, int32_t constant, int32_t left,
                                                        const int32_t *head, const int32_t *words, int32_t shift)
{
    const int32_t most = (int32_t)((1u << (uint32_t)head[1]) - 1u);
    int32_t number = aidge_cortexm_high_product((int32_t)((uint32_t)sum << (uint32_t)left), multiplier) + constant;
    uint32_t level;
    int32_t word;
    number = aidge_cortexm_clamp(number, 0, most);
    word = words[number >> shift];
    level = (uint32_t)(word + aidge_cortexm_high_product(word, number)) >> 16;
    return (int8_t)((int32_t)((level & 0xFFu) ^ 0x80u) - 128);
}

/* The factors of a group: whether they are proved integers, how many words they have, and which words they are. */
typedef struct {
    int32_t is_proved, words;
    const int32_t *numbers;
    const int32_t *multipliers; /* of form 0 */
    int32_t joined[4];
} aidge_cortexm_factors;

/* The factors at `group`, behind the weights; `start` points to the begin of the group. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_read_factors(aidge_cortexm_factors *factors, const int32_t *start, const int32_t *group,
                                                     const int32_t *head, int32_t is_proved, int32_t packed, int32_t form)
{
    const int32_t is_even = (int32_t)((form == -2) || (form == -4) || (form == -6));
    const int32_t bits = (packed / AIDGE_CORTEXM_BITS) & 7;
    const int32_t near_words = (form == 2) || (form == -3) || (form == -4) ? (bits != 0 ? 8 : 4) : 0; /* before multipliers */
    const int32_t is_own = (packed & (AIDGE_CORTEXM_WORDS | AIDGE_CORTEXM_PACKED)) == AIDGE_CORTEXM_WORDS ? 1 : 0;
    const int32_t is_ahead = packed & (AIDGE_CORTEXM_UNIFORM | AIDGE_CORTEXM_JOINED);
    const int32_t fractions = ((packed & AIDGE_CORTEXM_FRACTIONS) != 0) && (bits == 0) ? 2 : 0;
    const int32_t before = (packed & AIDGE_CORTEXM_CENTRED) != 0 ? 2 : fractions;
    const int32_t integers = is_own != 0 ? 8 : 6;
    const int32_t others = before + ((form == 3) || (form < -4) ? 12 : near_words != 0 ? 2 * near_words : is_ahead != 0 ? 0 : 4);
    int32_t channel;
    factors->is_proved = is_proved;
    factors->words = is_even != 0 ? (integers > others ? integers : others) : is_proved != 0 ? integers : others;
    factors->numbers = group;
    factors->multipliers = (packed & AIDGE_CORTEXM_UNIFORM) != 0 ? head + AIDGE_CORTEXM_HEAD_WORDS : group + before + near_words;
    if ((packed & AIDGE_CORTEXM_JOINED) != 0) {
        for (channel = 0; channel < 4; channel++) {
            factors->joined[channel] = (int32_t)(((uint32_t)start[channel] >> 4) + (uint32_t)AIDGE_CORTEXM_JOINED_BASE);
        }
        factors->multipliers = factors->joined;
    }
}

/* The stored value of the sum of a channel, which lacks those of other channels but has fraction bits if it is odd and packed. */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_level(int32_t sum, int32_t channel, const aidge_cortexm_factors *factors,
                                                const int32_t *head, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t is_odd = channel & 1;
    const int32_t has_bits = is_odd & packed; /* AIDGE_CORTEXM_PACKED is 1 */
    const int32_t words = packed & AIDGE_CORTEXM_WORDS;
    const int32_t bits = (packed / AIDGE_CORTEXM_BITS) & 7;
    const int32_t *numbers = factors->numbers;
    if (factors->is_proved != 0) {
        const int32_t own = (words != 0) && ((packed & AIDGE_CORTEXM_PACKED) == 0) ? 1 : 0; /* a constant for odd channels */
        const int32_t own_shift = has_bits != 0 ? shift + 8 : (words != 0) && (is_odd == 0) ? 0 : shift;
        int32_t constant = words != 0 ? -(128 << own_shift) : 0; /* is in that of the stream, which is a halfword's */
        numbers += channel / 2 * (3 + own);
        constant += has_bits != 0 ? 0 : numbers[2 + own * is_odd];
        return aidge_cortexm_limited(aidge_cortexm_proved(sum, numbers[is_odd], constant, own_shift), head);
    }
    if ((packed & AIDGE_CORTEXM_CENTRED) != 0) {
        sum = is_odd != 0 ? (sum >> 8) + numbers[channel / 2] : sum;
        numbers += 2;
    } else if ((form > 1) || (form < -2)) {
        sum = has_bits != 0 ? sum >> 8 : sum;
    } else if ((packed & AIDGE_CORTEXM_FRACTIONS) != 0) {
        sum = is_odd != 0 ? sum : (int32_t)(((uint32_t)sum << 8) + (uint32_t)numbers[channel / 2]);
    } else {
        /* the sum is as it is */
    }
    if ((form == 3) || (form < -4)) {
        return aidge_cortexm_fixed(sum, numbers + 3 * channel, packed, head);
    }
    if (bits != 0) {
        sum = (int32_t)(((uint32_t)sum << bits) + (uint32_t)factors->multipliers[4 + channel]);
    }
    return aidge_cortexm_rounded(sum, factors->multipliers[channel], head);
}

/*
 * The stored values of a group of channels from their sums; `start` points to its begin, `group` behind its weights. Returns its
 * end. packed: AIDGE_CORTEXM_PACKED and others.
 */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_store_group(uint32_t sum0, uint32_t sum1, uint32_t sum2, uint32_t sum3,
                                                              const int32_t *start, const int32_t *group, int8_t *output,
                                                              const int32_t *head, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t is_packed = packed & AIDGE_CORTEXM_PACKED;
    const int32_t channels = aidge_cortexm_channels(packed);
    const int32_t sums[4] = {(int32_t)sum0, (int32_t)(is_packed != 0 ? sum1 - sum0 : sum1), (int32_t)sum2,
                             (int32_t)(is_packed != 0 ? sum3 - sum2 : sum3)};
    int32_t is_proved = (int32_t)(form == 1);
    aidge_cortexm_factors factors;
    int32_t channel;
    if (form == AIDGE_CORTEXM_CURVE) {
        const int32_t *const middle = group + ((uint32_t)*group >> 16);
        output += *group++ & 0xFFFF;
        for (channel = 0; channel < 4; channel++) {
            const int32_t *const own = group + channel / 2 * 4 + (channel & 1);
            output[channel] = aidge_cortexm_curved(sums[channel], own[0], own[2], head, middle, shift);
        }
        return group + 8;
    }
    if (form == AIDGE_CORTEXM_PRODUCTS) {
        const int32_t *const words = group + ((uint32_t)*group >> 16);
        output += *group++ & 0xFFFF;
        for (channel = 0; channel < 4; channel++) {
            const int32_t *const own = group + 2 * channel;
            const int32_t left = (channel & is_packed) != 0 ? head[0] - 8 : head[0];
            output[channel] = aidge_cortexm_product_level(sums[channel], own[0], own[1], left, head, words, shift);
        }
        return group + 8;
    }
    if (form < 0) {
        is_proved = *group & 1;
        output += *group++ >> 1;
    }
    aidge_cortexm_read_factors(&factors, start, group, head, is_proved, packed, form);
    for (channel = 0; channel < 4; channel++) {
        const int32_t is_inner = ((channel == 1) || (channel == 2)) && ((packed & AIDGE_CORTEXM_WORDS) != 0) ? 1 : 0;
        const int32_t place = is_inner != 0 ? 3 - channel : channel; /* both have changed places */
        if (place < channels) {
            output[place] = aidge_cortexm_level(sums[channel], channel, &factors, head, packed, shift, form);
        }
    }
    return group + factors.words;
}

/* Where the activations of a pixel lie, in words: `planes` times `step` apart, in each plane those of `taps` [count]. */
typedef struct {
    int32_t planes, step, count;
    const int32_t *taps;
} aidge_cortexm_taps;

/* The words of the weights of a pair of taps for a group of channels. */
AIDGE_CORTEXM_INLINE int32_t aidge_cortexm_tap_words(int32_t packed)
{
    const int32_t channels = aidge_cortexm_channels(packed) > 2 ? 4 : 2; /* of one or two, the others have no weights */
    return (packed & AIDGE_CORTEXM_PACKED) != 0 ? channels / 2 : channels;
}

/* The weights of the even channel in a word of two channels. */
AIDGE_CORTEXM_INLINE uint32_t aidge_cortexm_even_weights(uint32_t both, int32_t packed)
{
    return packed >= AIDGE_CORTEXM_SUMS ? both & 0x00FF00FFu : aidge_cortexm_even_bytes(both);
}

/* The sums [0], [1] and [4], [5] of two channels at two pixels, `second` words apart, and of the taps behind them that hold sums. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_two_channels(const uint32_t *column, int32_t second, const aidge_cortexm_taps *taps,
                                                     const int32_t *weights, uint32_t *sums, int32_t packed)
{
    const int32_t more = packed / AIDGE_CORTEXM_SUMS;
    const int32_t is_packed = packed & AIDGE_CORTEXM_PACKED;
    uint32_t a = sums[0];
    uint32_t b = sums[1];
    uint32_t c = sums[4];
    uint32_t d = sums[5];
    int32_t plane, tap;
    for (plane = taps->planes + more; plane > 0; plane--) {
        const int32_t count = plane > more ? taps->count : 1;
        for (tap = 0; tap < count; tap++) {
            const uint32_t *const place = column + taps->taps[tap];
            const uint32_t odd = (uint32_t)weights[is_packed != 0 ? 0 : 1];
            const uint32_t even = is_packed != 0 ? aidge_cortexm_even_weights(odd, packed) : (uint32_t)weights[0];
            const uint32_t x = place[0];
            const uint32_t y = place[second];
            a = aidge_cortexm_dot(even, x, a);
            b = aidge_cortexm_dot(odd, x, b);
            c = aidge_cortexm_dot(even, y, c);
            d = aidge_cortexm_dot(odd, y, d);
            weights += aidge_cortexm_tap_words(packed);
        }
        column += taps->step;
    }
    sums[0] = a;
    sums[1] = b;
    sums[4] = c;
    sums[5] = d;
}

/* One group of channels at two pixels, `second` words apart. Returns the end of the group. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_two_groups(const uint32_t *column, int32_t second,
                                                               const aidge_cortexm_taps *taps, const int32_t *group,
                                                               int8_t *output, int32_t second_output, const int32_t *head,
                                                               int32_t packed, int32_t shift, int32_t form)
{
    const int32_t *const start = group;
    const int32_t pairs = taps->planes * taps->count + packed / AIDGE_CORTEXM_SUMS;
    uint32_t sums[8];
    group = aidge_cortexm_biases(group, sums, packed);
    (void)memcpy(sums + 4, sums, 16);
    aidge_cortexm_two_channels(column, second, taps, group, sums, packed);
    if (aidge_cortexm_channels(packed) > 2) {
        const int32_t words = (packed & AIDGE_CORTEXM_PACKED) != 0 ? 1 : 2;
        aidge_cortexm_two_channels(column, second, taps, group + words, sums + 2, packed);
    }
    group += pairs * aidge_cortexm_tap_words(packed);
    (void)aidge_cortexm_store_group(sums[0], sums[1], sums[2], sums[3], start, group, output, head, packed, shift, form);
    return aidge_cortexm_store_group(sums[4], sums[5], sums[6], sums[7], start, group, output + second_output, head, packed, shift,
                                     form);
}
