/* SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <string.h>

/* An address for words of four bytes with highest bits that change; not every address suits words without unaligned access. */
#if defined(__ARM_FEATURE_UNALIGNED)
#define AIDGE_REF_FLIP_AT(address) (address)
#elif defined(__GNUC__)
#define AIDGE_REF_FLIP_AT(address) __builtin_assume_aligned((address), 4)
#endif

/* The highest bit of each byte changes: 128 taken off or added. output may be input. */
static void aidge_ref_flip_sign(const void *input, void *output, int32_t count)
{
    const uint8_t *from = (const uint8_t *)input;
    uint8_t *to = (uint8_t *)output;
#if defined(AIDGE_REF_FLIP_AT)
#if !defined(__ARM_FEATURE_UNALIGNED)
    if ((((uintptr_t)from | (uintptr_t)to) & 3u) == 0u)
#endif
    {
        for (; count >= 16; count -= 16) {
            uint32_t first, second, third, fourth;
            (void)memcpy(&first, AIDGE_REF_FLIP_AT(from), 4);
            (void)memcpy(&second, AIDGE_REF_FLIP_AT(from + 4), 4);
            (void)memcpy(&third, AIDGE_REF_FLIP_AT(from + 8), 4);
            (void)memcpy(&fourth, AIDGE_REF_FLIP_AT(from + 12), 4);
            first ^= 0x80808080u;
            second ^= 0x80808080u;
            third ^= 0x80808080u;
            fourth ^= 0x80808080u;
            (void)memcpy(AIDGE_REF_FLIP_AT(to), &first, 4);
            (void)memcpy(AIDGE_REF_FLIP_AT(to + 4), &second, 4);
            (void)memcpy(AIDGE_REF_FLIP_AT(to + 8), &third, 4);
            (void)memcpy(AIDGE_REF_FLIP_AT(to + 12), &fourth, 4);
            from += 16;
            to += 16;
        }
    }
#endif
    for (; count > 0; count--) {
        *to++ = (uint8_t)(*from++ ^ 0x80u);
    }
}
