# SPDX-License-Identifier: MIT
"""How levels are limited: by the instruction that saturates them, or by more where no instruction has these ends."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Levels are saturated by `instruction` at `bits`, and then limited at the `ends` that lie within int8."""

    instruction: str = "ssat"
    bits: int = 8
    ends: tuple[str, ...] = ()  # "lowest", "highest"

    @property
    def is_more(self) -> bool:
        """Whether levels are limited after they are saturated."""
        return bool(self.ends)

    def saturate(self, register: str, shift: int = 0) -> str:
        """The instruction for a level in a register, which is shifted to the right before."""
        return f"{self.instruction} {register}, #{self.bits}, {register}{f', asr #{shift}' if shift else ''}"

    @property
    def is_unsigned(self) -> bool:
        """Whether no level is below 0."""
        return self.instruction == "usat"

    @property
    def variant(self) -> str:
        """For the name of a text; "" for int8."""
        if self.ends:
            return "_clamped" if len(self.ends) > 1 else f"_{self.ends[0]}"
        return "" if self == Limits() else f"_{self.instruction[0]}{self.bits}"


def limits_of(clamp: tuple[int, int]) -> Limits:
    """The limits for these ends: `ReLU` of symmetric scales is a saturation at 0 and 127."""
    low, high = clamp
    bits = high.bit_length()
    if high == (1 << bits) - 1 and high > 0 and low in (0, -high - 1):
        return Limits("ssat", bits + 1) if low else Limits("usat", bits)
    return compared(clamp)


def compared(clamp: tuple[int, int]) -> Limits:
    """The limits for these ends: each end that is no end of int8 is compared with."""
    return Limits(ends=tuple(name for name, end, widest in zip(("lowest", "highest"), clamp, (-128, 127)) if end != widest))
