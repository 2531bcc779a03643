/* SPDX-License-Identifier: 0BSD */
#include "target.h"
#include "kit/copy.h"

/* A copy of bytes that do not overlap: aligned ones by LDM and STM. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_copy_bytes(uint8_t *to, const uint8_t *from, int32_t bytes)
{
#if AIDGE_CORTEXM_ASSEMBLY
    if (__builtin_constant_p(bytes) && (bytes <= AIDGE_KIT_SHORT_COPY)) {
        (void)memcpy(to, from, (uint32_t)bytes); /* a few instructions */
        return;
    }
    if ((((uintptr_t)to | (uintptr_t)from) & 3u) == 0u) {
        __asm__ volatile("subs %2, #32\n\t"
                         "blt 2f\n"
                         "1:\n\t"
                         "ldm %1!, {r3, r4, r5, r6}\n\t"
                         "stm %0!, {r3, r4, r5, r6}\n\t"
                         "ldm %1!, {r3, r4, r5, r6}\n\t"
                         "stm %0!, {r3, r4, r5, r6}\n\t"
                         "subs %2, #32\n\t"
                         "bge 1b\n"
                         "2:\n\t"
                         "lsls r3, %2, #28\n\t" /* carry: 16 bytes, minus: 8 bytes */
                         "itt cs\n\t"
                         "ldmcs %1!, {r3, r4, r5, r6}\n\t"
                         "stmcs %0!, {r3, r4, r5, r6}\n\t"
                         "itt mi\n\t"
                         "ldmmi %1!, {r3, r4}\n\t"
                         "stmmi %0!, {r3, r4}\n\t"
                         "and %2, %2, #7"
                         : "+r"(to), "+r"(from), "+r"(bytes)
                         :
                         : "r3", "r4", "r5", "r6", "cc", "memory");
        if (bytes >= 4) {
            aidge_cortexm_store(to, aidge_cortexm_load(from));
            to += 4;
            from += 4;
            bytes -= 4;
        }
        for (; bytes > 0; bytes--) {
            *to++ = *from++;
        }
        return;
    }
#endif
    aidge_kit_copy(to, from, bytes);
}

/* bytes / element_bytes times the element at value. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_fill_bytes(uint8_t *to, const uint8_t *value, int32_t bytes, int32_t element_bytes)
{
#if AIDGE_CORTEXM_ASSEMBLY
    if (((element_bytes == 1) || (element_bytes == 4)) && (((uintptr_t)to & 3u) == 0u)) {
        const uint32_t word = element_bytes == 1 ? *value * 0x01010101u : aidge_cortexm_load(value);
        __asm__ volatile("mov r3, %2\n\t"
                         "mov r4, %2\n\t"
                         "mov r5, %2\n\t"
                         "mov r6, %2\n\t"
                         "subs %1, #32\n\t"
                         "blt 2f\n"
                         "1:\n\t"
                         "stm %0!, {r3, r4, r5, r6}\n\t"
                         "stm %0!, {r3, r4, r5, r6}\n\t"
                         "subs %1, #32\n\t"
                         "bge 1b\n"
                         "2:\n\t"
                         "lsls r12, %1, #28\n\t" /* carry: 16 bytes, minus: 8 bytes */
                         "it cs\n\t"
                         "stmcs %0!, {r3, r4, r5, r6}\n\t"
                         "it mi\n\t"
                         "stmmi %0!, {r3, r4}\n\t"
                         "and %1, %1, #7"
                         : "+r"(to), "+r"(bytes)
                         : "r"(word)
                         : "r3", "r4", "r5", "r6", "r12", "cc", "memory");
        for (; bytes >= 4; bytes -= 4) {
            aidge_cortexm_store(to, word);
            to += 4;
        }
        for (; bytes > 0; bytes--) {
            *to++ = (uint8_t)word;
        }
        return;
    }
#endif
    aidge_kit_fill_bytes(to, value, bytes, element_bytes);
}
