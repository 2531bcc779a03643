# SPDX-License-Identifier: MIT
"""What stands behind the taps: three sums out of two words, and a stored value from each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .assembly import Routine

Use = Callable[[str, str, int], None]  # a sum's register, a spare one, the place of its pixel


@dataclass(frozen=True)
class Requantization:
    """Registers of `NarrowForm.apply`: the high and the low part of the multiplier in r2 and r3; `shift` holds the bits of the
    low one, `width` and `constant` are high registers. `below` and `above` are offsets on the stack: lowest - highest level, and
    highest level."""

    shift: str
    width: str
    constant: str
    below: int
    above: int

    def value(self, code: Routine, value: str, spare: str, pixel: int) -> None:
        """The level of the sum in `value`, in its low byte. Labels 10 + pixel and 20 + pixel."""
        code(f"cmp {value}, {self.width}")
        code(f"bhi 1{pixel}f")
        code(f"mov {spare}, {value}")
        code(f"muls {spare}, r3")
        code(f"lsrs {spare}, {self.shift}")
        code(f"muls {value}, r2")
        code(f"adds {value}, {value}, {spare}")
        code(f"add {value}, {self.constant}")
        code(f"lsrs {value}, {value}, #24")
        code.label(20 + pixel)

    def saturated(self, code: Routine, value: str, spare: str, pixel: int) -> None:
        """The rest of `value`, out of its way."""
        code.label(10 + pixel, "below the first step or above the last one")
        code(f"asrs {value}, {value}, #31")
        code(f"ldr {spare}, [sp, #{self.below}]")
        code(f"ands {value}, {spare}")
        code(f"ldr {spare}, [sp, #{self.above}]")
        code(f"adds {value}, {value}, {spare}")
        code(f"b 2{pixel}b")


SEPARATED = (("r5", "r6"), ("r4", "r5"), ("r6", "r5"))  # registers of the three sums, and spare ones


def separate(code: Routine, words: tuple[str, str], first: int, use: Use) -> None:
    """The sums of pixels first, first + 1, first + 2 out of two high registers, each with a spare one for `use`; r4 to r6."""
    code(f"mov r4, {words[0]}", f"sums of pixels {first} to {first + 2}")
    code("lsls r5, r4, #11")
    code("asrs r5, r5, #11", f"of pixel {first}")
    code("subs r4, r4, r5")
    code("lsrs r4, r4, #10", "2^11 * the low 11 bits of the next pixel's")
    use(*SEPARATED[0], first)
    code(f"mov r5, {words[1]}")
    code("subs r5, r5, r4")
    code("lsls r6, r5, #10")
    code("asrs r6, r6, #10", f"of pixel {first + 2}")
    code("subs r5, r5, r6")
    code("asrs r5, r5, #11")
    code("lsrs r4, r4, #11")
    code("adds r4, r4, r5", f"of pixel {first + 1}")
    use(*SEPARATED[1], first + 1)
    use(*SEPARATED[2], first + 2)


def begin_sums(code: Routine) -> None:
    """From what each sum begins with, in r4, what the two words begin with, in r5 and r6."""
    code("lsls r5, r4, #21")
    code("adds r5, r5, r4")
    code("lsls r6, r4, #11")
    code("adds r6, r6, r4")


def split_multiplier(code: Routine) -> None:
    """The multiplier in r2 and the bits of its low part in r0: its high part to r2, its low part to r3; r4 is lost."""
    code("movs r4, #32")
    code("subs r4, r4, r0")
    code("mov r3, r2")
    code("lsls r3, r4")
    code("lsrs r3, r4", "the low bits of the multiplier")
    code("lsrs r2, r0", "and the high ones")
