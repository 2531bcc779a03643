# SPDX-License-Identifier: MIT
"""The text of a function in assembly with registers in the place of values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.registers.check import check
from aidge_build.contract.kernel_kit.registers.choice import choose
from aidge_build.contract.kernel_kit.registers.frame import Frame, frame_of
from aidge_build.contract.kernel_kit.registers.named import (
    APART,
    ARGUMENT,
    BEGIN,
    CALL,
    DECLARATIONS,
    ENTER_LOW,
    ENTERS,
    FRAME_WORD,
    GET,
    PARAMETER_REGISTERS,
    PUT,
    VALUE,
    Function,
    Step,
    Value,
    leaves,
    read,
)
from aidge_build.contract.kernel_kit.registers.refusals import require_meant
from aidge_build.contract.kernel_kit.registers.rules import fixed_registers
from aidge_build.contract.kernel_kit.registers.waiting import in_pairs, with_waiting
from aidge_build.contract.kernel_kit.registers.webs import Webs, webs_of

_KEPT = 1 << 12  # texts

Line = tuple[str, str]  # an instruction or a label, and why


def names_values(lines: Sequence[Line]) -> bool:
    """Whether a text leaves the choice of registers to this package."""
    return any(text.strip() in ENTERS for text, _ in lines)


@lru_cache(_KEPT)
def with_registers(lines: tuple[Line, ...], parameters: tuple[str, ...], where: str) -> tuple[Line, ...]:
    """Returns the lines with registers in the place of values, and with numbers for labels.

    parameters: the names of the function's parameters. AidgeError names the function (`where`) if the registers do not suffice.
    """
    require_meant([text for text, _ in lines], parameters, where)
    function, webs = _read(lines, parameters)
    while (found := _choice(function, webs, parameters)) is None:
        before, lines = lines, tuple(with_waiting(lines, function, webs))
        if lines == before:
            raise AidgeError("needs more registers than there are", where=where, code="KERNEL")
        function, webs = _read(lines, parameters)
    pairs = lines if function.steps[0].text == ENTER_LOW else tuple(in_pairs(lines))
    if pairs != lines:
        with_pairs, webs = _read(pairs, parameters)
        if in_pairs_found := _choice(with_pairs, webs, parameters):
            lines, function, found = pairs, with_pairs, in_pairs_found
    printed, frame = found
    check(function, printed, parameters, frame.save, where)
    return tuple(lines_of(lines, function, printed, frame))


def _read(lines: Sequence[Line], parameters: Sequence[str]) -> tuple[Function, Webs]:
    function = read([text for text, _ in lines], parameters)
    return function, webs_of(function.steps)


def _choice(function: Function, webs: Webs, parameters: Sequence[str]) -> tuple[list[str], Frame] | None:
    """Returns the instructions with registers, and what is saved around them; None: registers do not suffice."""
    for kept in dict.fromkeys((frozenset(function.kept), frozenset[Value]())):  # without, if that is impossible
        mine = webs_of(function.steps, kept) if kept else webs
        chosen = choose(function.steps, mine, function.steps[0].text == ENTER_LOW, parameters)
        if chosen is not None:
            return assigned(function, mine, chosen)
    return None


def assigned(function: Function, webs: Webs, chosen: Mapping[int, str]) -> tuple[list[str], Frame]:
    """Returns the instruction with registers of each step ("" for a move within a register), and what is saved around them."""
    calls = any(CALL.fullmatch(step.text) for step in function.steps)
    fixed = fixed_registers(function.steps)
    frame = frame_of(set(chosen.values()), function.steps[0].text, fixed, function.frame_words, calls)
    return instructions_of(function, webs, chosen, frame), frame


def instructions_of(
    function: Function, webs: Webs, chosen: Mapping[int, str], frame: Frame, passed: int = PARAMETER_REGISTERS
) -> list[str]:
    """Returns the instruction with registers of each step, "" for a move within one; `passed` parameters are in registers."""
    printed = []
    for number, step in enumerate(function.steps):
        here = webs.read[number] | webs.written[number]
        registers = {value: chosen[web] for value, web in here.items() if web in chosen}
        flags = {web for value, web in webs.written[number].items() if not value.kind}
        is_superfluous = step.is_move and len(set(registers.values())) == 1 and not flags & webs.alive[number]
        printed.append("" if is_superfluous else _instruction(step, registers, function, frame, passed))
    return printed


def _instruction(step: Step, registers: Mapping[Value, str], function: Function, frame: Frame, passed: int) -> str:
    """Returns an instruction with registers; labels keep their names."""
    if step.text.startswith((PUT, GET)):
        names = [match[2] for match in VALUE.finditer(step.text)]
        return frame.move(step.text.startswith(PUT), *([registers[Value(kind, name)] for name in names] for kind in "wr"))
    if call := CALL.fullmatch(step.text):
        return f"call {call[1]}"
    text = ARGUMENT.sub(lambda match: f"[sp, #{frame.size_bytes + 4 * (int(match[1]) - passed)}]", step.text)
    text = FRAME_WORD.sub(lambda match: f"#{4 * (function.frame[match[1]] + int(match[2] or 0))}", text)
    return VALUE.sub(lambda match: registers.get(Value(match[1] or "r", match[2]), match[0]), text)


def lines_of(lines: Sequence[Line], function: Function, printed: Sequence[str], frame: Frame) -> list[Line]:
    """Returns the lines with these instructions."""
    steps = {step.place: number for number, step in enumerate(function.steps)}
    numbers = {name: (number, place) for number, (place, name) in enumerate(function.labels.items(), 1)}
    found: list[Line] = []
    for place, (line, why) in enumerate(lines):
        text = line.strip()
        if place in function.labels:
            found.append((f"{numbers[function.labels[place]][0]}:", why))
        elif text in ENTERS or leaves(text):
            found += [(f"    {each}", "") for each in (frame.restore if leaves(text) else frame.save)]
        elif not text.startswith((APART, BEGIN, *DECLARATIONS)) and (place not in steps or printed[steps[place]]):
            found.append(("    " + _with_labels(printed[steps[place]] if place in steps else text, numbers, place), why))
    return found


def _with_labels(text: str, numbers: Mapping[str, tuple[int, int]], place: int) -> str:
    """Returns a line with numbers for labels, which are ahead of the line or not."""

    def said(match: re.Match[str]) -> str:
        number, at = numbers[match[2]]
        return f"{number}{'b' if at < place else 'f'}"

    return VALUE.sub(said, text)
