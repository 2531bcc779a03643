# SPDX-License-Identifier: MIT
"""The text of a function in assembly that names values, as a graph of instructions.

| in a text | means |
| --- | --- |
| `%sum`, `%q.data`, `%s.scale` | a value in a register of the core, a vector register, a float register |
| `%turn:`, `bne %turn` | a label, and a jump to it |
| `%enter`, `%leave` | save what the function changes; restore it and return |
| `%leave %sum` | the same; the value is the result |
| `%enter.low` | as `%enter`, in a text of Armv6-M's instructions (`put` and `get` move one value) |
| `%enter.floats` | as `%enter`, if values may wait in float registers |
| `[%argument.4]` | the place of parameter 4 on the stack |
| `%frame outputs.6, bits` | words of the frame in this order: an array of six, and one more |
| `%keep left, right` | each name has one register, of its own if there are enough: the next load can begin early |
| `[sp, %frame.outputs.2]`, `add %to, sp, %frame.bits` | a word of them, an address |
| `call rounded(%sum, %first) %level` | a call of C, with a result or without one |
| `put %low, %high` | one or two values also wait outside the registers of the core, on the stack unless the text says floats |
| `get %low, %high` | they come back |
| `begin %q.sums` | a vector that several instructions write lane by lane: it holds nothing yet |
| `apart %number, %sum, %other` | no two of these share a register: the build may move their instructions past each other |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from aidge_build.base.errors import AidgeError
from aidge_build.contract.thumb.instruction import instruction_of_text
from aidge_build.contract.thumb.work import work_of
from aidge_build.contract.work import Work

ENTER, ENTER_LOW, ENTER_FLOATS, LEAVE = "%enter", "%enter.low", "%enter.floats", "%leave"
ENTERS = (ENTER, ENTER_LOW, ENTER_FLOATS)
PUT, GET, BEGIN, APART = "put ", "get ", "begin ", "apart "
LABEL = re.compile(r"%([a-z]\w*):")
VALUE = re.compile(r"%(?:([qs])\.)?([a-z]\w*)\b(?!\.|:)")
ARGUMENT = re.compile(r"\[%argument\.(\d+)\]")
FRAME, KEEP = DECLARATIONS = "%frame ", "%keep "
FRAME_WORD = re.compile(r"%frame\.([a-z]\w*)(?:\.(\d+))?")
_FRAME_WORDS = re.compile(r"([a-z]\w*)(?:\.(\d+))?")
PARAMETER_REGISTERS, RESULT = 4, "r0"
_VIRTUAL = {"r": 100, "q": 100, "s": 1000}  # the number of the first value of each class, beyond the registers of all cores
_JUMP = re.compile(r"(b[a-z]{0,2}(?:\.[nw])?|cbn?z|(le|wls)(tp)?(\.\d+)?) .*")
_ALWAYS = re.compile(r"(b(\.[nw])?|tb[bh]) ")
CALL = re.compile(r"call (\w+)\(([^)]*)\)(?: %(\w+))?")
_SERIES = re.compile(r"v[id]dup\.\w+ %q\.\w+, %(\w+), .*")  # moves the number on from which it begins
_IN_PLACE = re.compile(r"v(orr|bic|q?r?shl)\.\w+ %q\.\w+, [%#][^,.]*")  # changes its one vector
_OTHER_CALL = re.compile(r"(call|bl|blx) .*")
CHANGED = frozenset(
    ("r0", "r1", "r2", "r3", "r12", "lr", "q0", "q1", "q2", "q3", *(f"s{number}" for number in range(16)))
)  # by a call
_FLOAT_REGISTERS = 32
_KEPT = 1 << 12  # lines


class Value(NamedTuple):
    """A name of the text. `kind` is r (core), q (vector), s (float) or w (a place where a value waits); "" for flags and for
    registers that the text names, which are no values but read and written as well.
    """

    kind: str
    name: str


@dataclass(frozen=True)
class Step:
    """An instruction: its text, the values that it reads and writes, and the steps that may follow it."""

    text: str
    reads: frozenset[Value]
    writes: frozenset[Value]
    following: tuple[int, ...] = ()
    is_move: bool = False
    depth: int = 0  # the loops that it is in
    place: int = 0  # of its line in the text

    @property
    def named(self) -> list[Value]:
        """The values in the order of the text, labels left out."""
        mentioned = [Value(match[1] or "r", match[2]) for match in VALUE.finditer(self.text)]
        return [value for value in mentioned if value in self.reads or value in self.writes]


@dataclass
class Function:
    """The steps of a function in the order of its text, its labels by their lines, and the words of its frame with names: the
    first one of each name, and how many there are; the names that keep one register."""

    steps: list[Step] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)
    frame: dict[str, int] = field(default_factory=dict)
    frame_words: int = 0
    kept: set[Value] = field(default_factory=set)

    def declare(self, text: str) -> None:
        """Adds the words of a line such as `%frame outputs.6, bits`, or the names of one such as `%keep left, right`."""
        if text.startswith(KEEP):
            self.kept |= {Value("r", name) for name in re.findall(r"\w+", text.removeprefix(KEEP))}
            return
        for name, words in _FRAME_WORDS.findall(text.removeprefix(FRAME)):
            self.frame[name] = self.frame_words
            self.frame_words += int(words or 1)


def read(lines: Sequence[str], parameters: Sequence[str], passed: int = PARAMETER_REGISTERS) -> Function:
    """Returns the steps of a text with these names of parameters; AidgeError for a line that no core executes.

    `passed`: so many parameters are in registers, r0 and the next ones, when the function begins.
    """
    texts = [(place, line.strip()) for place, line in enumerate(lines) if line.strip()]
    function = Function([], {place: text[1:-1] for place, text in texts if LABEL.fullmatch(text)})
    at, instructions = dict[str, int](), list[tuple[int, str]]()
    jumps: dict[int, str] = {}  # the words that name the labels of a jump: its own, or the data after a jump by a table
    for place, text in texts:
        if place in function.labels:
            at[function.labels[place]] = len(instructions)
        elif text.startswith(DECLARATIONS):
            function.declare(text)
        elif text.startswith("."):
            jumps[len(instructions) - 1] = f"{jumps.get(len(instructions) - 1, '')} {text}"
        else:
            jumps |= {len(instructions): text} if _JUMP.fullmatch(text) else {}
            instructions.append((place, text))
    following = [
        _following(number, text, jumps.get(number, ""), at, len(instructions)) for number, (_, text) in enumerate(instructions)
    ]
    depths = _depths(following)
    entry = frozenset(Value("r", name) for name in parameters[:passed])
    labels = frozenset(at)
    for number, (place, text) in enumerate(instructions):
        own = (frozenset[Value](), entry, False) if text in ENTERS else _own_traffic(text)
        reads, writes, is_move = own or _traffic(text, labels)
        function.steps.append(Step(text, reads, writes, following[number], is_move, depths[number], place))
    return function


_Traffic = tuple[frozenset[Value], frozenset[Value], bool]  # the values that a line reads and writes; whether it moves one


def _own_traffic(text: str) -> _Traffic | None:
    """Returns the traffic of a line of this notation; None for an instruction."""
    if leaves(text):
        return frozenset(Value("r", name) for name in text.split("%")[2:]), frozenset(), False
    if text.startswith((PUT, GET)):
        core, waiting = (frozenset(Value(kind, match[2]) for match in VALUE.finditer(text)) for kind in "rw")
        return (core, waiting, False) if text.startswith(PUT) else (waiting, core, False)
    if text.startswith(APART):
        return frozenset(), frozenset(), False
    if text.startswith(BEGIN):
        return frozenset(), frozenset(Value("q", match[2]) for match in VALUE.finditer(text)), False
    if call := CALL.fullmatch(text):
        arguments, result = (frozenset(Value("r", name) for name in registers) for registers in called(call))
        return arguments, result | {Value("", register) for register in CHANGED}, False
    return None


@lru_cache(_KEPT)
def _traffic(text: str, labels: frozenset[str]) -> _Traffic:
    """Returns the traffic of an instruction."""
    if not _JUMP.fullmatch(text) and any(match[2] in labels for match in VALUE.finditer(text)):
        raise AidgeError("names a value as a label is called", where=text, code="KERNEL")
    names: dict[Value, str] = {}

    def number(match: re.Match[str]) -> str:
        value = Value(match[1] or "r", match[2])
        return "0x0" if match[2] in labels else names.setdefault(value, f"{value.kind}{_VIRTUAL[value.kind] + len(names)}")

    instruction = instruction_of_text(VALUE.sub(number, FRAME_WORD.sub("#0", ARGUMENT.sub("[sp]", text))))
    if instruction is None or _OTHER_CALL.fullmatch(text):
        raise AidgeError("is no instruction of a function with named values", where=text, code="KERNEL")
    work = work_of(instruction.mnemonic, instruction.operands, instruction.size_bytes, instruction.data_type)
    reads, writes = _touched(text, work, {_first_word(name): value for value, name in names.items()})
    is_move = instruction.mnemonic in ("mov", "movs", "vmov") and len(instruction.operands) == len(names) == 2
    return reads | writes if work.conditional and not work.jumps else reads, writes, is_move


def _touched(text: str, work: Work, values: Mapping[str, Value]) -> tuple[frozenset[Value], frozenset[Value]]:
    """Returns what an instruction reads and writes, with what `work_of` does not know; `values` by the registers in `work`."""
    reads = frozenset(_value(values, register) for register, _ in work.reads)
    writes = frozenset(_value(values, register) for register, _ in work.writes)
    if series := _SERIES.fullmatch(text):
        writes |= {Value("r", series[1])}
    return reads | writes if _IN_PLACE.fullmatch(text) else reads, writes


def called(call: re.Match[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the registers of a call's arguments by their names, and of its result."""
    arguments = {name: f"r{place}" for place, name in enumerate(re.findall(r"%(\w+)", call[2]))}
    return arguments, {call[3]: RESULT} if call[3] else {}


def leaves(text: str) -> bool:
    """Whether a line returns, with a result or without one."""
    return text.partition(" ")[0] == LEAVE


def _first_word(name: str) -> str:
    """Returns the register by which `work_of` knows a register: vector registers by their first words."""
    return f"s{4 * int(name[1:])}" if name[0] == "q" else name


def _value(values: Mapping[str, Value], register: str) -> Value:
    if register[0] == "s" and register[1:].isdigit() and _FLOAT_REGISTERS <= int(register[1:]) < _VIRTUAL["s"]:
        register = f"s{int(register[1:]) // 4 * 4}"
    return values.get(register, Value("", register))


def _following(number: int, text: str, jumps: str, at: Mapping[str, int], count: int) -> tuple[int, ...]:
    """Returns the steps that may come next; `jumps` names labels."""
    if leaves(text):
        return ()
    behind = [] if _ALWAYS.match(text) else [number + 1]
    targets = [at[match[2]] for match in VALUE.finditer(jumps) if match[2] in at]
    return tuple(dict.fromkeys(step for step in (*behind, *targets) if step < count))


def _depths(following: Sequence[Sequence[int]]) -> list[int]:
    """Returns for each step how many loops it is in: stretches from a label to the last jump back to it."""
    ends: dict[int, int] = {}
    for number, others in enumerate(following):
        ends |= {target: number for target in others if target <= number}
    return [sum(first <= number <= last for first, last in ends.items()) for number in range(len(following))]
