/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* The highest bit of each byte changes: 128 taken off or added. output may be input. */
static void aidge_ref_flip_sign(const void *input, void *output, int32_t count)
{
    const uint8_t *from = (const uint8_t *)input;
    uint8_t *to = (uint8_t *)output;
    int32_t i = 0;
#if defined(__ARM_FEATURE_UNALIGNED)
    for (; i + 16 <= count; i += 16) {
        uint32_t first, second, third, fourth;
        (void)memcpy(&first, from + i, 4);
        (void)memcpy(&second, from + i + 4, 4);
        (void)memcpy(&third, from + i + 8, 4);
        (void)memcpy(&fourth, from + i + 12, 4);
        first ^= 0x80808080u;
        second ^= 0x80808080u;
        third ^= 0x80808080u;
        fourth ^= 0x80808080u;
        (void)memcpy(to + i, &first, 4);
        (void)memcpy(to + i + 4, &second, 4);
        (void)memcpy(to + i + 8, &third, 4);
        (void)memcpy(to + i + 12, &fourth, 4);
    }
#endif
    for (; i < count; i++) {
        to[i] = (uint8_t)(from[i] ^ 0x80u);
    }
}
