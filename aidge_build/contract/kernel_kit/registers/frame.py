# SPDX-License-Identifier: MIT
"""The registers of the caller that a function saves, the places where values wait, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from aidge_build.contract.kernel_kit.registers.named import ENTER_FLOATS, ENTER_LOW
from aidge_build.contract.kernel_kit.registers.rules import PRESERVED, number_of

_FIRST_SAVED, _FIRST_SAVED_FLOAT = 4, 16  # r4 and s16


@dataclass(frozen=True)
class Frame:
    """The instructions that save registers, the ones that restore them and return, their bytes on the stack, the first float
    register in which values wait (None: they wait on the stack), and the words on the stack with names, before these."""

    save: tuple[str, ...]
    restore: tuple[str, ...]
    size_bytes: int
    first_float: int | None = None
    named_words: int = 0

    def move(self, is_put: bool, places: Sequence[str], registers: Sequence[str]) -> str:
        """Returns the instruction that moves one or two values to the places where they wait, or back."""
        first, core = number_of(places[0]), ", ".join(registers)
        if self.first_float is None:
            return f"{'str' if is_put else 'ldr'}{'d' * (len(places) - 1)} {core}, [sp, #{4 * (self.named_words + first)}]"
        floats = ", ".join(f"s{self.first_float + first + number}" for number in range(len(places)))
        return f"vmov {floats}, {core}" if is_put else f"vmov {core}, {floats}"


def frame_of(used: AbstractSet[str], begin: str, fixed: AbstractSet[str], named_words: int = 0, calls: bool = False) -> Frame:
    """Returns the frame of a function that begins so, uses these registers and places, and itself names the `fixed` ones and so
    many words of the frame; `calls`: it calls others, which want a stack of whole double words."""
    core = sorted((name for name in (used | fixed) & PRESERVED if name[0] == "r"), key=number_of)
    last_float = max((_last_word(name) for name in used | fixed if name[0] in "qs"), default=-1)
    words, first_float = 1 + max((number_of(name) for name in used if name[0] == "w"), default=-1), None
    if begin == ENTER_FLOATS:
        first_float, last_float, words = last_float + 1, last_float + words, 0
    words += named_words
    save, restore, size = _core_frame(core, calls or "lr" in used | fixed, begin == ENTER_LOW)
    if last_float >= _FIRST_SAVED_FLOAT:
        kind, size_words = "sd"[last_float % 2], 1 + last_float % 2
        first, last = _FIRST_SAVED_FLOAT // size_words, last_float // size_words
        listed = f"{{{kind}{first}{f'-{kind}{last}' * (last > first)}}}"
        save, restore = (*save, f"vpush {listed}"), (f"vpop {listed}", *restore)
        size += 4 * (last_float - _FIRST_SAVED_FLOAT + 1)
    words += calls and (size // 4 + words) % 2
    if words:
        save, restore = (*save, f"sub sp, sp, #{4 * words}"), (f"add sp, sp, #{4 * words}", *restore)
    return Frame(save, restore, size + 4 * words, first_float, named_words)


def _last_word(register: str) -> int:
    return 4 * number_of(register) + 3 if register[0] == "q" else number_of(register)


def _core_frame(core: Sequence[str], uses_link: bool, is_low: bool) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Returns what saves registers of the core, what restores them and returns, and their bytes."""
    if not core and not uses_link:
        return (), ("bx lr",), 0
    high = [name for name in core if number_of(name) > 7] if is_low else []
    if not high:
        listed = _listed(core)
        return (f"push {{{listed}lr}}",), (f"pop {{{listed}pc}}",), 4 * (len(core) + 1)
    # Only low registers can be pushed: the high ones move there once these are saved.
    count = max(len(high), *(number_of(name) - _FIRST_SAVED + 1 for name in core if name not in high), 0)
    save, restore, size = _core_frame([f"r{_FIRST_SAVED + number}" for number in range(count)], uses_link, False)
    borrowed = [f"r{_FIRST_SAVED + number}" for number in range(len(high))]
    listed = _listed(borrowed).removesuffix(", ")
    there = [f"mov {one}, {other}" for one, other in zip(borrowed, high, strict=True)]
    back = [f"mov {other}, {one}" for one, other in zip(borrowed, high, strict=True)]
    return (*save, *there, f"push {{{listed}}}"), (f"pop {{{listed}}}", *back, *restore), size + 4 * len(high)


def _listed(registers: Sequence[str]) -> str:
    """Returns `r4-r7, r10, ` of registers in rising order."""
    spans: list[list[str]] = []
    for name in registers:
        if spans and number_of(name) == number_of(spans[-1][-1]) + 1:
            spans[-1].append(name)
        else:
            spans.append([name])
    return "".join(f"{span[0]}, " if len(span) == 1 else f"{span[0]}-{span[-1]}, " for span in spans)
