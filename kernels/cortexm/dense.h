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
 * Packed: each halfword is 256 * (weight of the odd channel) + weight of the even channel; the bias of an odd channel is
 *   256 * its own + offset + that of the even channel, so that the sum modulo 2^32 separates exactly.
 * Wide: a word per channel, a halfword per tap.
 * Form 0: multipliers of odd channels are divided by 256 if packed. Form 1: the generator has proved that hi32(sum * multiplier)
 *   (+ constant), shifted right, equals the float formula for every possible sum.
 */
enum { AIDGE_CORTEXM_HEAD_WORDS = 3 };

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
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The stored value of one sum by integers. */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_proved(int32_t sum, int32_t factor, int32_t constant, int32_t shift)
{
    return (int8_t)aidge_cortexm_clamp((aidge_cortexm_high_product(sum, factor) + constant) >> shift, -128, 127);
}

/* The stored value of one sum by the float formula; head as above. */
AIDGE_CORTEXM_INLINE int8_t aidge_cortexm_rounded(int32_t sum, int32_t factor, const int32_t *head)
{
    int32_t level = aidge_cortexm_clamp(aidge_kit_scale(sum, aidge_cortexm_as_float((uint32_t)factor)), -32768, 32767);
    level = aidge_cortexm_clamp(level + aidge_cortexm_low((uint32_t)head[0]), aidge_cortexm_low((uint32_t)head[1]),
                                aidge_cortexm_high((uint32_t)head[1]));
    return (int8_t)(level - 128);
}

/* The stored value of one sum: what assembly without an FPU calls near the middle of two levels. */
AIDGE_CORTEXM_NOINLINE int32_t aidge_cortexm_round_sum(int32_t sum, int32_t factor, const int32_t *head)
{
    return aidge_cortexm_rounded(sum, factor, head);
}

/*
 * The same of 4 sums. group: 4 factors and 4 multipliers.
 */
AIDGE_CORTEXM_NOINLINE void aidge_cortexm_round_group(int8_t *output, const int32_t *group, const int32_t *sums,
                                                      const int32_t *head)
{
    int32_t channel;
    for (channel = 0; channel < 4; channel++) {
        output[channel] = (int8_t)aidge_cortexm_round_sum(sums[channel], group[4 + channel], head);
    }
}

/* Where the activations of a pixel lie, in words: `planes` times `step` apart, in each plane those of `taps` [count]. */
typedef struct {
    int32_t planes, step, count;
    const int32_t *taps;
} aidge_cortexm_taps;

/* The stored values of a group of channels from their sums; `group` points behind its weights. Returns the end of the group. */
AIDGE_CORTEXM_INLINE const int32_t *aidge_cortexm_store_group(uint32_t sum0, uint32_t sum1, uint32_t sum2, uint32_t sum3,
                                                              const int32_t *group, int8_t *output, const int32_t *head,
                                                              int32_t packed, int32_t shift, int32_t form)
{
    const int32_t whole = (form == 2) || (form < -2) ? 4 : 0; /* words before the multipliers, which are whole */
    const int32_t floats = whole != 0 ? 8 : form == -2 ? 6 : 4;
    const int32_t integers = form == -4 ? 8 : 6;
    int32_t is_proved = (int32_t)(form == 1);
    if (packed != 0) {
        sum1 -= sum0;
        sum3 -= sum2;
    }
    if (form < 0) {
        is_proved = *group & 1;
        output += *group++ >> 1;
    }
    if (is_proved != 0) {
        const int32_t high_shift = packed != 0 ? shift + 8 : shift;
        output[0] = aidge_cortexm_proved((int32_t)sum0, group[0], group[2], shift);
        output[1] = aidge_cortexm_proved((int32_t)sum1, group[1], packed != 0 ? 0 : group[2], high_shift);
        output[2] = aidge_cortexm_proved((int32_t)sum2, group[3], group[5], shift);
        output[3] = aidge_cortexm_proved((int32_t)sum3, group[4], packed != 0 ? 0 : group[5], high_shift);
        return group + integers;
    }
    if ((whole != 0) && (packed != 0)) {
        sum1 = (uint32_t)((int32_t)sum1 >> 8);
        sum3 = (uint32_t)((int32_t)sum3 >> 8);
    }
    output[0] = aidge_cortexm_rounded((int32_t)sum0, group[whole], head);
    output[1] = aidge_cortexm_rounded((int32_t)sum1, group[whole + 1], head);
    output[2] = aidge_cortexm_rounded((int32_t)sum2, group[whole + 2], head);
    output[3] = aidge_cortexm_rounded((int32_t)sum3, group[whole + 3], head);
    return group + floats;
}

/* One group of channels at one pixel. Returns the end of the group. Not every model that has this header calls it. */
__attribute__((unused))
static const int32_t *aidge_cortexm_group(const uint32_t *column, const aidge_cortexm_taps *taps, const int32_t *group,
                                          int8_t *output, const int32_t *head, int32_t packed, int32_t shift, int32_t form)
{
    const int32_t pairs = taps->planes * taps->count;
    int32_t pair, tap = 0;
    uint32_t sum0 = (uint32_t)group[0];
    uint32_t sum1 = (uint32_t)group[1];
    uint32_t sum2 = (uint32_t)group[2];
    uint32_t sum3 = (uint32_t)group[3];
    group += 4;
    for (pair = 0; pair < pairs; pair++) {
        const uint32_t x = column[taps->taps[tap]];
        if (packed != 0) {
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
        tap++;
        if (tap == taps->count) {
            tap = 0;
            column += taps->step;
        }
    }
    return aidge_cortexm_store_group(sum0, sum1, sum2, sum3, group, output, head, packed, shift, form);
}
