/* SPDX-License-Identifier: 0BSD */
#include "core/target.h"

/* Bytes, at least 1. */
AIDGE_KIT_NAKED void aidge_rvv_copy_bytes(AIDGE_KIT_PASSED void *to, AIDGE_KIT_PASSED const void *from,
                                          AIDGE_KIT_PASSED int32_t bytes)
{
    __asm__(
        "1:\n"
        "    vsetvli t0, a2, e8, m8, ta, ma\n"
        "    vle8.v v0, (a1)\n"
        "    add a1, a1, t0\n"
        "    sub a2, a2, t0\n"
        "    vse8.v v0, (a0)\n"
        "    add a0, a0, t0\n"
        "    bnez a2, 1b\n"
        "    ret\n"
    );
}

/* to[i] = table[from[i]] for i < bytes, at least 1. */
AIDGE_KIT_NAKED void aidge_rvv_table_bytes(AIDGE_KIT_PASSED void *to, AIDGE_KIT_PASSED const void *from,
                                           AIDGE_KIT_PASSED const void *table, AIDGE_KIT_PASSED int32_t bytes)
{
    __asm__(
        "1:\n"
        "    vsetvli t0, a3, e8, m8, ta, ma\n"
        "    vle8.v v8, (a1)\n"
        "    vluxei8.v v16, (a2), v8\n"
        "    vse8.v v16, (a0)\n"
        "    add a0, a0, t0\n"
        "    add a1, a1, t0\n"
        "    sub a3, a3, t0\n"
        "    bnez a3, 1b\n"
        "    ret\n"
    );
}

/* Bytes of this value, at least 1. */
AIDGE_KIT_NAKED void aidge_rvv_fill_bytes(AIDGE_KIT_PASSED int8_t *to, AIDGE_KIT_PASSED int32_t value,
                                          AIDGE_KIT_PASSED int32_t bytes)
{
    __asm__(
        "    vsetvli t0, a2, e8, m8, ta, ma\n"
        "    vmv.v.x v0, a1\n"
        "1:\n"
        "    vsetvli t0, a2, e8, m8, ta, ma\n"
        "    vse8.v v0, (a0)\n"
        "    sub a2, a2, t0\n"
        "    add a0, a0, t0\n"
        "    bnez a2, 1b\n"
        "    ret\n"
    );
}
