/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "shared/float_model.h"

/* The Mersenne Twister (Matsumoto and Nishimura 1998): 624 words of state, then the place of the next one. */
static void aidge_ref_twister_begin(uint32_t *state, uint32_t seed)
{
    uint32_t i;
    state[0] = seed;
    for (i = 1u; i < 624u; i++) {
        state[i] = 1812433253u * (state[i - 1u] ^ (state[i - 1u] >> 30)) + i;
    }
    state[624] = 624u;
}

static uint32_t aidge_ref_twister_next(uint32_t *state)
{
    uint32_t word, i;
    if (state[624] == 624u) {
        for (i = 0u; i < 624u; i++) {
            const uint32_t pair = (state[i] & 0x80000000u) | (state[(i + 1u) % 624u] & 0x7FFFFFFFu);
            state[i] = state[(i + 397u) % 624u] ^ (pair >> 1) ^ ((pair & 1u) != 0u ? 0x9908B0DFu : 0u);
        }
        state[624] = 0u;
    }
    word = state[state[624]];
    state[624] += 1u;
    word ^= word >> 11;
    word ^= (word << 7) & 0x9D2C5680u;
    word ^= (word << 15) & 0xEFC60000u;
    return word ^ (word >> 18);
}

/*
 * Dropout in training mode: an element stays, divided by 1 - ratio, where a random number of 53 bits is at least the ratio.
 * mask may be 0. state: 625 words of scratch.
 */
static void aidge_ref_dropout_float32(const float *input, const float *ratio, const uint8_t *training, float *output,
                                      uint8_t *mask, void *scratch, int32_t count, uint32_t seed)
{
    uint32_t *state = (uint32_t *)scratch;
    /* The product is exact; a ratio of 1 or more drops every element, NaN and less than 0 none. */
    const float bound = ceilf(*ratio * 9007199254740992.0f);
    const uint64_t least = bound > 0.0f ? bound < 9007199254740992.0f ? (uint64_t)bound : (uint64_t)1 << 53 : 0u;
    int32_t i;
    aidge_ref_twister_begin(state, seed);
    for (i = 0; i < count; i++) {
        uint8_t stays = 1;
        output[i] = input[i];
        if (*training != 0u) {
            const uint64_t high = aidge_ref_twister_next(state) >> 5;
            stays = (high << 26 | aidge_ref_twister_next(state) >> 6) >= least ? 1 : 0;
            output[i] = stays != 0u ? input[i] / (1.0f - *ratio) : 0.0f;
        }
        if (mask != NULL) {
            mask[i] = stays;
        }
    }
}
