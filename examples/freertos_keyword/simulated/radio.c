/* SPDX-License-Identifier: MIT */
/* SIMULATED: the sender is a file of the development machine. It numbers its blocks: each has a higher version than the last one. */
#include "radio.h"

#include "inject.h"
#include "semihosting.h"

enum { MOST = 8192, VERSION = 12, SUM = 68, SENT = 3 };

static union { uint32_t words[MOST / 4]; uint8_t bytes[MOST]; } block __attribute__((section(".noinit.sender")));
static uint32_t at;

/* The CRC-32 of a block, without the word that holds it. */
static uint32_t sum(uint32_t bytes)
{
    uint32_t value = 0xFFFFFFFFu;

    for (uint32_t number = 0; number < bytes; number++) {
        if (number - SUM >= 4u) {
            value ^= block.bytes[number];
            for (int bit = 0; bit < 8; bit++) {
                value = value >> 1 ^ ((value & 1u) ? 0xEDB88320u : 0u);
            }
        }
    }
    return ~value;
}

uint32_t radio_offer(void)
{
    static const char *const files[SENT] = {"wrong.bin", "retrained.bin", "original.bin"};
    const uint32_t offer = injected.offer;

    if (offer == (uint32_t)NOTHING) {
        return 0u;
    }
    /* The version says whose weights a block has, for listener.py. */
    do {
        injected.version++;
    } while ((injected.version % SENT == 0u) != (offer == (uint32_t)WRONG_ANSWERS));
    const int file = semihosting_open(files[injected.version % SENT], SEMIHOSTING_READ);
    const int32_t length = file < 0 ? 0 : semihosting_length(file);
    const uint32_t bytes = length < 0 || length > MOST ? 0u : (uint32_t)length;

    injected.offer = (uint32_t)NOTHING;
    if (bytes == 0u) {
        return 0u;
    }
    (void)semihosting_read(file, block.bytes, bytes);
    (void)semihosting_close(file);
    block.words[VERSION / 4] = injected.version;
    block.words[SUM / 4] = sum(bytes);
    if (offer == (uint32_t)ONE_BIT_WRONG) {
        block.bytes[inject_random(bytes)] ^= (uint8_t)(1u << inject_random(8u));
    }
    at = 0u;
    return offer == (uint32_t)CUT_OFF ? inject_random(bytes - 1u) + 1u : bytes;
}

void radio_read(uint8_t *to, uint32_t bytes)
{
    for (uint32_t number = 0; number < bytes; number++) {
        to[number] = block.bytes[at++];
    }
}
