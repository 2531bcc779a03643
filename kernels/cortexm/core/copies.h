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
