# SPDX-License-Identifier: MIT
"""A function in assembly, generated for one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aidge_build.contract.kernel_kit.registers.refusals import names_of
from aidge_build.contract.kernel_kit.registers.texts import names_values, with_registers
from aidge_build.contract.thumb.statements import asm_statements

LONGEST_SIGNATURE = 100
SAVED_BYTES = 36 + 64  # r4-r11, lr and d8-d15 on the stack: arguments lie behind them
SAVED_BY_AN_INSTRUCTION = 40  # at least, of one more instruction of a text
WORD_REACH, BYTE_REACH = 508, 127  # of the immediate offsets of VLDRW and VLDRB


def pays_for_text(saved: int, length: int) -> bool:
    """Whether so many instructions that are not executed any more pay for so many that stand in the text."""
    return saved >= SAVED_BY_AN_INSTRUCTION * length


class Line(NamedTuple):
    """One instruction, or a label when it ends in a colon; `comment` says why."""

    text: str
    comment: str = ""


def function(name: str, purpose: str, parameters: str, lines: Sequence[Line], result: str = "void") -> str:
    """The C text: a naked function. Values with names get registers."""
    if names_values(lines):
        lines = [Line(text.strip(), why) for text, why in with_registers(tuple(lines), names_of(parameters, name), name)]
    statements = asm_statements([("    " + line.text, _printed(line)) for line in lines])
    unused = parameters.replace(",", " AIDGE_HELIUM_UNUSED,") + " AIDGE_HELIUM_UNUSED"
    return f"/* {purpose} */\nAIDGE_HELIUM_NAKED {result} {_signature(name, unused)}\n{{\n{statements}\n}}"


def c_function(name: str, parameters: str, body: Sequence[str], result: str = "void") -> str:
    """The C text of a function without assembly."""
    lines = "\n".join(f"    {line}" for line in body)
    return f"static {result} {_signature(name, parameters)}\n{{\n{lines}\n}}"


def loop(variable: str, count: int | str, body: Sequence[str]) -> list[str]:
    """The lines of a C loop."""
    return [f"for ({variable} = 0; {variable} < {count}; {variable}++) {{", *(f"    {line}" for line in body), "}"]


def _signature(name: str, parameters: str) -> str:
    """Name and parameters, one in a line where they would be too long."""
    line = f"{name}({parameters})"
    return line if len(line) < LONGEST_SIGNATURE else f"{name}(\n    " + parameters.replace(", ", ",\n    ") + ")"


def _printed(line: Line) -> str:
    if line.text.endswith(":"):
        return f'        "{line.text}\\n"'
    text = f'        "    {line.text}\\n"'
    return f"{text:<60} /* {line.comment} */" if line.comment else text


class Assembler:
    """Collects lines."""

    def __init__(self):
        self.lines: list[Line] = []

    def __call__(self, *texts: str, why: str = "") -> None:
        """Append instructions; the comment stands at the first."""
        for position, text in enumerate(texts):
            self.lines.append(Line(text, why if position == 0 else ""))

    def label(self, name: int | str) -> None:
        """Appends a label: a number, or a word where values have names."""
        self.lines.append(Line(f"%{name}:" if isinstance(name, str) else f"{name}:"))

    def add(self, target: str, source: str, constant: int) -> None:
        """target = source + constant, in as few instructions as it takes; no flags, no further register."""
        operation, size = ("add", constant) if constant >= 0 else ("sub", -constant)
        if constant == 0:
            if target != source:
                self(f"mov {target}, {source}")
        elif size < 4096:
            self(f"{operation}w {target}, {source}, #{size}")
        else:
            for part in (size & 0xFFF, size & 0xFF000, size & 0xFF00000):
                if part:
                    self(f"{operation}{'w' if part < 4096 else '.w'} {target}, {source}, #{part}")
                    source = target

    def move(self, pointer: str, constant: int) -> None:
        """pointer += constant where nobody waits for flags: often by a short instruction."""
        if 0 < abs(constant) < 256:
            self(f"{'adds' if constant > 0 else 'subs'} {pointer}, {pointer}, #{abs(constant)}")
        else:
            self.add(pointer, pointer, constant)

    def enter(self, stack_bytes: int = 0) -> None:
        """Save what the caller owns; r0 to r3 are the arguments."""
        self("push {r4-r11, lr}", "vpush {d8-d15}")
        if stack_bytes:
            self(f"sub sp, #{stack_bytes}")

    def leave(self, stack_bytes: int = 0) -> None:
        if stack_bytes:
            self(f"add sp, #{stack_bytes}")
        self("vpop {d8-d15}", "pop {r4-r11, pc}")


def emit_gather(emit: Assembler, vector: str, numbers: Sequence[str]) -> None:
    """Numbers in registers of the core ("": none) become lanes 0, 2, 1 and 3 of a vector."""
    emit(f"begin {vector}")
    for lane, (low, high) in enumerate((numbers[:2], numbers[2:])):
        if low and high:
            emit(f"vmov {vector}[{lane + 2}], {vector}[{lane}], {low}, {high}")
        elif low:
            emit(f"vmov.32 {vector}[{lane}], {low}")


@dataclass(frozen=True)
class Access:
    """How one vector access is addressed: `before` is added to the pointer by an instruction of its own."""

    address: str
    before: int = 0


def walk(pointer: str, home: int, offsets: Sequence[int], reach: int, step: int = 0) -> tuple[list[Access], int]:
    """Addresses of accesses at `offsets` in this order with one pointer that begins at `home` and must end `step` further.

    Immediates reach `reach` bytes; farther, the pointer moves along with the accesses, which costs nothing as long as
    neighbours lie within reach. Returns the accesses and what must be added to the pointer at the end.
    """
    place, end, found = home, home + step, []
    for index, offset in enumerate(offsets):
        before = 0
        if abs(offset - place) > reach:
            before, place = offset - place, offset
        is_last = index + 1 == len(offsets)
        following = end if is_last else offsets[index + 1]
        if place == following if is_last else abs(following - place) <= reach:
            address = f"[{pointer}, #{offset - place}]" if offset != place else f"[{pointer}]"
        elif offset == place and abs(following - place) <= (reach if is_last else 2 * reach):
            move = max(-reach, min(reach, following - place))
            address, place = f"[{pointer}], #{move}", place + move
        elif offset != place:
            address, place = f"[{pointer}, #{offset - place}]!", offset
        else:
            address = f"[{pointer}]"
        found.append(Access(address, before))
    return found, end - place
