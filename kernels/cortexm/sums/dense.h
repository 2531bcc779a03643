/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"

/*
 * The stream of words that the dense kernels read.
 *
 * Head: (zero point + 128) twice as int16; limits + 128 of the output as two int16; the input's zero point in each byte.
 * Each group of 4 output channels: 4 biases; for each pair of taps 2 words (packed) or 4 words (wide); 2 * first channel +
 *   form; 4 float multipliers (form 0), or for each pair of channels 2 multipliers and a constant (form 1). If all groups have
 *   one form and follow each other, the word before the multipliers is left out (`form` >= 0 in stream.py).
 * `form` -2: two words follow the float multipliers, so that streams with the same number of groups have one length.
 * No FPU: 4 factors (kit/near.h) come before the multipliers of form 0, which are divided by nothing; with `form` -2 two words
 *   follow the integer form, too. If biases have fractions, 4 starts follow the factors, and 4 fractions follow the
 *   multipliers of sums in fractions of a unit; then 10 words follow the integer form.
 * Fixed-point factors (arithmetic/fixed_form.py): multiplier, constant and shift of each channel come before the multipliers
 *   of form 0, and nothing else does. With `form` -2, 6 words follow the integer form, too, or 4 words if the levels of wide
 *   sums are words. These factors give levels + 128.
 * Packed: each halfword is 256 * (weight of the odd channel) + weight of the even channel; the bias of an odd channel is
 *   256 * its own + offset + the bias of the even channel, so the sum modulo 2^32 separates exactly.
 * Packed with offsets (offset_weights.py): weights of even channels are unsigned bytes, weights of odd channels are 128 more
 *   than in the stream. After the other pairs of taps, some pairs hold the negated sum of all others; their weight is the
 *   offset of each channel.
 * Packed and centred: in a group of form 0, the bias of an odd channel is smaller by 256 times the middle of the range of its
 *   sums; the middles of both odd channels come before the factors, instead of the two words of `form` -2, and the multipliers
 *   belong to the sums as they are.
 * Uniform (fully connected layers of form 0 alone): the multipliers of a group follow the head, and no group holds any.
 * Joined (form 0 alone): 6 words replace the biases, and no multipliers follow the weights. A word of each channel holds the
 *   low 4 bits of its own bias below the 28 bits of its multiplier's pattern, less 0x30000000; two words hold the upper 16
 *   bits of the biases.
 * Paired (fully connected layers, paired_inputs.py): the biases of even channels (packed) or of all (bytes) are smaller by
 *   products of weights: of each 4 taps the first with the second, and the third with the fourth; the taps of the negated sum
 *   have none.
 * Wide: a word per channel, a halfword per tap.
 * Bytes (fully connected layers): for each 4 taps a word per channel, a byte per tap; all else is as with wide weights.
 * Fewer than 4 channels: copies of the last channel fill the group; with one or two, the weights of the group's other half are
 *   left out.
 * Form 0: multipliers of odd channels are divided by 256 if packed. If biases have fractions, two words come before the
 *   multipliers: the numbers that are added to 256 times the sum of each even channel; all multipliers are then divided by 256.
 * Levels as words: channels 1 and 2 of a group have changed places; form 1 gives levels + 128, for sums 0 and 2 without a
 *   shift; and wide sums have a constant each, two after the two multipliers.
 * Curved: 2 factors and 2 biases of each pair of channels, float32 (of odd channels packed: a 256th of the factor), replace
 *   the multipliers; the words of a function (arithmetic/carried_steps.py) follow the groups. The head holds the amounts by
 *   which numbers are raised and lowered instead of zero point and limits. A word comes before the factors: the first channel,
 *   and above 16 bits the distance in words from there to the middle of the function's words. Without floats
 *   (arithmetic/curved_products.py), each channel has multiplier and constant; the head says how far sums are shifted to the
 *   left, and how many bits numbers have; the distance is to the first of the function's words.
 * Form 1: the generator has proved that hi32(sum * multiplier) (+ constant), shifted right, equals the float formula for every
 *   possible sum.
 */
enum { AIDGE_CORTEXM_HEAD_WORDS = 3 };

#if AIDGE_CORTEXM_ASSEMBLY
/*
 * The stored value of one sum by the float formula, in integers, for assembly without an FPU near the middle of two levels; the
 * head as above. r2, which holds its address, is not changed.
 */
AIDGE_KIT_NAKED int32_t aidge_cortexm_round_sum(AIDGE_KIT_PASSED int32_t sum, AIDGE_KIT_PASSED uint32_t multiplier,
                                                AIDGE_KIT_PASSED const int32_t *head)
{
    __asm__(
        ".syntax unified\n"
        "    push {r4}\n"
        "    movs r12, r0\n"
        "    it mi\n"
        "    rsbmi r0, r0, #0\n"        /* its magnitude */
        "    clz r3, r0\n"
        "    lsl r0, r0, r3\n"          /* bit 31 is the highest */
        "    ubfx r4, r0, #8, #1\n"
        "    add r4, r4, #0x7f\n"
        "    adds r0, r0, r4\n"         /* half to even, to 24 bits */
        "    bic r0, r0, #0xff\n"
        "    itt cs\n"
        "    movcs r0, #0x80000000\n"
        "    subcs r3, r3, #1\n"
        "    lsr r4, r1, #23\n"         /* exponent + 127 */
        "    sub r3, r4, r3\n"
        "    lsl r1, r1, #8\n"
        "    orr r1, r1, #0x80000000\n" /* a multiplier below 2^-126 becomes another one, but no sum gives half a level */
        "    umull r4, r0, r0, r1\n"
        "    cmp r0, #0\n"
        "    itttt pl\n"
        "    lslpl r0, r0, #1\n"
        "    orrpl r0, r0, r4, lsr #31\n"
        "    lslpl r4, r4, #1\n"
        "    subpl r3, r3, #1\n"
        "    cmp r4, #0\n"
        "    it ne\n"
        "    orrne r0, r0, #1\n"        /* something is left */
        "    ubfx r4, r0, #8, #1\n"
        "    add r4, r4, #0x7f\n"
        "    adds r0, r0, r4\n"         /* half to even, to 24 bits */
        "    bic r0, r0, #0xff\n"
        "    itt cs\n"
        "    movcs r0, #0x80000000\n"
        "    addcs r3, r3, #1\n"
        "    rsb r3, r3, #126\n"        /* the product is r0 / 2^r3 */
        "    cmp r3, #22\n"
        "    it lt\n"
        "    movlt r3, #22\n"           /* 512 saturates as well as more */
        "    rsb r1, r3, #32\n"
        "    lsl r1, r0, r1\n"          /* what is shifted out */
        "    lsr r0, r0, r3\n"
        "    and r4, r0, #1\n"
        "    add r1, r1, r4\n"
        "    cmp r1, #0x80000000\n"
        "    it hi\n"
        "    addhi r0, r0, #1\n"        /* half to even, to an integer */
        "    cmp r12, #0\n"
        "    it lt\n"
        "    rsblt r0, r0, #0\n"
        "    ldrh r1, [r2]\n"
        "    ldrh r12, [r2, #4]\n"
        "    ldrh r3, [r2, #6]\n"
        "    add r0, r0, r1\n"
        "    cmp r0, r12\n"
        "    it lt\n"
        "    movlt r0, r12\n"
        "    cmp r0, r3\n"
        "    it gt\n"
        "    movgt r0, r3\n"
        "    sub r0, r0, #128\n"
        "    pop {r4}\n"
        "    bx lr\n"
    );
}

/* The same of the 4 sums r4 to r7, which are lost as r2 and r3: to r0, with the multipliers 16 bytes after r1 and the head at r12. */
AIDGE_KIT_NAKED void aidge_cortexm_round_group(void)
{
    __asm__(
        ".syntax unified\n"
        "    push {r8, r9, r10, lr}\n"
        "    mov r8, #4\n"
        "    mov r9, r0\n"
        "    mov r10, r1\n"
        "    mov r2, r12\n"
        "1:\n"
        "    mov r0, r4\n"
        "    mov r4, r5\n"
        "    mov r5, r6\n"
        "    mov r6, r7\n"
        "    ldr r1, [r10, #16]\n"
        "    add r10, r10, #4\n"
    );
    __asm__("    bl %c0\n" : : "i"(aidge_cortexm_round_sum));
    __asm__(
        ".syntax unified\n"
        "    strb r0, [r9], #1\n"
        "    subs r8, r8, #1\n"
        "    bne 1b\n"
        "    sub r0, r9, #4\n"
        "    sub r1, r10, #16\n"
        "    mov r12, r2\n"
        "    pop {r8, r9, r10, pc}\n"
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
