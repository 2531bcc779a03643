# SPDX-License-Identifier: MIT
"""Whether Thumb code uses the FPU: instructions of coprocessors 10 and 11 (Armv7-M Architecture Reference Manual, A5.3.18)."""

from __future__ import annotations

from aidge_build.run.emulate.counting import thumb_sizes


def uses_fpu(code: bytes) -> bool:
    """Whether one of the instructions is of the FPU."""
    at = 0
    for size in thumb_sizes(code):
        first, second = (int.from_bytes(code[at + half : at + half + 2], "little") for half in (0, 2))
        if size == 4 and first & 0xEC00 == 0xEC00 and first & 0x0F00 != 0x0F00 and second >> 9 & 7 == 5:
            return True
        at += size
    return False
