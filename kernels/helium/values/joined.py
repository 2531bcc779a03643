# SPDX-License-Identifier: MIT
"""Biases and float multipliers of a pair of channels in three words (kernel_kit/joined.py), taken apart in ten instructions."""

from __future__ import annotations

from collections.abc import Sequence

from aidge_build.contract.kernel_kit.joined import BASE, joined_words
from aidge_build.contract.kernel_kit.linear import LinearConstants

from ..core.assembly import Assembler
from ..core.rounding import Fixed, multiplier_words


def joined_numbers(numbers: LinearConstants, channels: Sequence[int]) -> list[int]:
    """The words of these channels; none where a number does not fit."""
    chosen = list(channels)
    return joined_words(numbers.bias[chosen].tolist(), multiplier_words(numbers)[chosen].tolist())


def can_join(numbers: LinearConstants, fixed: Fixed | None) -> bool:
    """Whether the numbers of all channels fit, an even number of them, and weights in the field cannot change that."""
    return fixed is None and not numbers.is_any and bool(joined_numbers(numbers, range(len(numbers.bias))))


def emit_joined(emit: Assembler, words: Sequence[str], biases: tuple[str, str], multipliers: tuple[str, str], spare: str) -> None:
    """From registers with three words to registers of numbers. The second multiplier's is none of the words'; the first one's may
    be the last word's."""
    first, second, high = words
    emit(f"lsr {multipliers[1]}, {second}, #4", f"asr {spare}, {high}, #16", f"and {second}, {second}, #15")
    emit(f"orr {biases[1]}, {second}, {spare}, lsl #4", f"sxth {spare}, {high}")
    emit(f"lsr {multipliers[0]}, {first}, #4", f"and {first}, {first}, #15", f"orr {biases[0]}, {first}, {spare}, lsl #4")
    emit(*(f"add {register}, {register}, #{BASE:#x}" for register in multipliers))
