# SPDX-License-Identifier: MIT
"""The cause of a fault of a Cortex-M, by the bits of the register CFSR (0xE000ED28).

Sources: Armv7-M Architecture Reference Manual, B3.2.15; Armv8-M (STKOF), D1.2.7.
"""

from __future__ import annotations

CFSR = 0xE000ED28
_CAUSES = {
    0: "IACCVIOL, code in memory that the MPU or the memory map forbids",
    1: "DACCVIOL, data in memory that the MPU forbids",
    3: "MUNSTKERR, no access to the stack on return from an exception",
    4: "MSTKERR, no access to the stack on entry of an exception: did the stack overflow?",
    5: "MLSPERR, no access to the stack for the registers of the FPU",
    8: "IBUSERR, code where no memory is",
    9: "PRECISERR, data where no memory is, or a peripheral without its clock",
    10: "IMPRECISERR, data that were written where no memory is",
    11: "UNSTKERR, no memory at the stack on return from an exception",
    12: "STKERR, no memory at the stack on entry of an exception: did the stack overflow?",
    13: "LSPERR, no memory at the stack for the registers of the FPU",
    16: "UNDEFINSTR, an instruction that the core does not have",
    17: "INVSTATE, a jump to an address without its bit 0, such as a null pointer to a function",
    18: "INVPC, a wrong return from an exception: was the stack overwritten?",
    19: "NOCP, an instruction of the FPU, which is off (CPACR)",
    20: "STKOF, the stack overflowed its limit",
    24: "UNALIGNED, words at an address that is no multiple of their size",
    25: "DIVBYZERO, a division by 0",
}


def cause_of(status: int) -> str:
    """Returns the causes that the bits of CFSR name, "" for 0."""
    return "; ".join(text for bit, text in _CAUSES.items() if status >> bit & 1)
