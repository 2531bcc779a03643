# SPDX-License-Identifier: MIT
"""The registers of the values of a text, on RISC-V.

A text is read as for Arm (`registers.named`), and its registers are numbered as there: r0 to r7 are a0 to a7, and so on. All
registers are alike, so the choice is the usual colouring of the graph of values that are alive at one time: values with few
neighbours last, then the ones first that are cheap to have in memory. Words of a frame, values that wait (`put`, `get`) and all
others stay in registers where these suffice; `spilling` puts the rest into memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.registers.check import check
from aidge_build.contract.kernel_kit.registers.choice import apart_of
from aidge_build.contract.kernel_kit.registers.frame import Frame
from aidge_build.contract.kernel_kit.registers.named import CALL, ENTERS, Function, Value, called, leaves, read
from aidge_build.contract.kernel_kit.registers.refusals import require_meant
from aidge_build.contract.kernel_kit.registers.rules import number_of
from aidge_build.contract.kernel_kit.registers.texts import Line, instructions_of, lines_of
from aidge_build.contract.kernel_kit.registers.webs import Webs, webs_of
from aidge_build.contract.kernel_kit.riscv.simpler import with_values
from aidge_build.contract.kernel_kit.riscv.spilling import spill_costs, with_own_names, with_spills

_HIGH_PRODUCT = re.compile("mulhs?u ")  # instructions of RISC-V alone; Arm's `mul` has operands of the same kinds
_OF_ARM = 4  # parameters that a text has in registers; it loads others


@dataclass(frozen=True, eq=False)
class Registers:
    """The registers of an ABI, by their names in texts: `real` has the names for the assembler. `passed` parameters are in r0 and
    the next ones; a function saves the `preserved` ones that it uses, `spare` serves a single line, and the stack pointer is a
    multiple of `stack_bytes`."""

    real: Mapping[str, str]
    passed: int
    preserved: frozenset[str]
    spare: str
    stack_bytes: int

    @property
    def changed(self) -> frozenset[str]:
        """The ones that a call changes."""
        return frozenset(self.real.keys() - self.preserved) | {"lr"}


def _numbered(begin: int, *names: str) -> dict[str, str]:
    return {f"r{begin + place}": name for place, name in enumerate(names)}


# r13 to r15 are other registers of Arm. The ABIs ilp32 and ilp32e: RISC-V ELF psABI, "integer register convention".
_SAVED = _numbered(16, *(f"s{number}" for number in range(12)))
RV32I = Registers(
    {**_numbered(0, *(f"a{number}" for number in range(8)), "t0", "t1", "t2", "t3", "t4"), **_SAVED, "r28": "t5"},
    passed=8,
    preserved=frozenset(_SAVED),
    spare="t6",
    stack_bytes=16,
)
_SAVED_OF_16 = _numbered(16, "s0", "s1")
RV32E = Registers(
    {**_numbered(0, *(f"a{number}" for number in range(6)), "t0", "t1"), "lr": "ra", **_SAVED_OF_16},
    passed=6,
    preserved=frozenset({"lr", *_SAVED_OF_16}),
    spare="t2",
    stack_bytes=4,
)


def with_registers(lines: Sequence[Line], parameters: Sequence[str], where: str, registers: Registers) -> tuple[Line, ...]:
    """Returns the lines with registers in the place of values, and with numbers for labels; AidgeError names the function
    (`where`) if the registers do not suffice."""
    require_meant([_HIGH_PRODUCT.sub("mul ", text) for text, _ in lines], parameters, where)
    parameters = [name if place < _OF_ARM else f"argument_{place}" for place, name in enumerate(parameters)]
    lines = with_values(lines, registers.passed)
    lines = with_own_names(lines, _read(lines, parameters, registers))
    whole = _read(lines, parameters, registers)
    in_memory: list[str] = []
    while True:
        tried = with_spills(lines, whole, in_memory)
        function = _read(tried, parameters, registers)
        webs = webs_of(function.steps)
        chosen, without = _chosen(function, webs, parameters, registers, spill_costs(function, webs, in_memory))
        if not without:
            break
        more = sorted({webs.values[web].name for web in without}.difference(in_memory))
        if not more:
            raise AidgeError("needs more registers than there are", where=where, code="KERNEL")
        in_memory += more
    frame = _frame(function, set(chosen.values()), registers)
    printed = instructions_of(function, webs, chosen, frame, registers.passed)
    check(function, printed, parameters, frame.save, where, registers.passed, registers.preserved)
    return tuple(lines_of(tried, function, printed, frame))


def _read(lines: Sequence[Line], parameters: Sequence[str], registers: Registers) -> Function:
    return read([text for text, _ in lines], parameters, registers.passed)


def _chosen(
    function: Function, webs: Webs, parameters: Sequence[str], registers: Registers, costs: Mapping[int, float]
) -> tuple[dict[int, str], list[int]]:
    """Returns the register of each web, and the webs for which there is none."""
    steps = function.steps
    kept = {web for number, step in enumerate(steps) if CALL.fullmatch(step.text) for web in webs.alive[number]}
    fixed = _fixed(function, webs, parameters)
    apart = apart_of(steps, webs)
    found = dict[int, str](), list[int]()
    for is_joined in (True, False):
        joined = _joined(function, webs, apart, fixed) if is_joined else {web: web for web in apart}
        found = _coloured(webs, apart, joined, fixed, kept, registers, costs)
        if not found[1]:
            break
    return found


def _joined(function: Function, webs: Webs, apart: Mapping[int, set[int]], fixed: Mapping[int, str]) -> dict[int, int]:
    """Returns for each web the one that represents it: the ends of a move share a register if nothing forbids it."""
    joined, far = {web: web for web in apart}, {web: set(others) for web, others in apart.items()}
    moves = [number for number, step in enumerate(function.steps) if step.is_move and len(step.named) == 2]
    for number in sorted(moves, key=lambda each: -function.steps[each].depth):
        ends = {joined[web] for here in (webs.read, webs.written) for value, web in here[number].items() if value.kind}
        one, *others = sorted(ends, key=lambda web: (web not in fixed, web))
        for other in others:
            if other not in far[one] and other not in fixed:
                _join(one, other, joined, far)
    return joined


def _join(one: int, other: int, joined: dict[int, int], far: dict[int, set[int]]) -> None:
    """Makes `one` represent the webs of `other`."""
    for web in far.pop(other):
        far[one].add(web)
        far[web].discard(other)
        far[web].add(one)
    joined |= {web: one for web, chief in joined.items() if chief == other}


def _coloured(
    webs: Webs,
    apart: Mapping[int, set[int]],
    joined: Mapping[int, int],
    fixed: Mapping[int, str],
    kept: AbstractSet[int],
    registers: Registers,
    costs: Mapping[int, float],
) -> tuple[dict[int, str], list[int]]:
    """Returns a choice with one register for the webs that are joined, and the webs for which there is none."""
    far: dict[int, set[int]] = {}
    for web, others in apart.items():
        if webs.values[web].kind == "r":
            far.setdefault(joined[web], set()).update(joined[other] for other in others)
    chosen, kept, without = dict(fixed), {joined[web] for web in kept}, list[int]()
    cost: dict[int, float] = {}
    for web, one in joined.items():
        cost[one] = min(costs[web], cost.get(one, math.inf))
    for web in reversed(_simplest_first(far.keys() - fixed.keys(), far, len(registers.real), cost)):
        taken = {chosen.get(other) for other in far[web]} | (registers.changed if web in kept else set())
        free = [name for name in registers.real if name not in taken]
        if not free:
            without.append(web)
            continue
        used = set(chosen.values())
        chosen[web] = min(free, key=lambda name: (name in registers.preserved and name not in used, number_of(name)))
    return {web: chosen[joined[web]] for web in apart if joined[web] in chosen}, without


def _simplest_first(webs: AbstractSet[int], far: Mapping[int, set[int]], count: int, costs: Mapping[int, float]) -> list[int]:
    """Returns the webs such that each has few neighbours among the ones after it, if possible; else the cheapest one in memory is
    next."""
    left, degrees = set(webs), {web: len(far[web]) for web in webs}
    order: list[int] = []
    while left:
        simple = [web for web in left if degrees[web] < count]
        web = min(simple) if simple else min(left, key=lambda each: (costs[each], each))
        left.discard(web)
        order.append(web)
        for other in far[web] & left:
            degrees[other] -= 1
    return order


def _fixed(function: Function, webs: Webs, parameters: Sequence[str]) -> dict[int, str]:
    """Returns the registers that the procedure call standard decides."""
    fixed: dict[int, str] = {}
    for number, step in enumerate(function.steps):
        if step.text in ENTERS:
            named = {name: f"r{place}" for place, name in enumerate(parameters)}
            fixed |= {web: named[value.name] for value, web in webs.written[number].items()}
        elif leaves(step.text):
            fixed |= dict.fromkeys(webs.read[number].values(), "r0")
        elif call := CALL.fullmatch(step.text):
            for here, named in zip((webs.read[number], webs.written[number]), called(call), strict=True):
                fixed |= {here[Value("r", name)]: register for name, register in named.items()}
    return fixed


def _frame(function: Function, used: set[str], registers: Registers) -> Frame:
    """Returns what a function saves, in front of its own words."""
    saved = sorted(used & registers.preserved, key=number_of)
    link = ["lr"] if "lr" not in saved and any(CALL.fullmatch(step.text) for step in function.steps) else []
    begin = 4 * function.frame_words
    size = -(-(begin + 4 * len(saved + link)) // registers.stack_bytes) * registers.stack_bytes
    traffic = [f"{name}, [sp, #{begin + 4 * place}]" for place, name in enumerate(saved + link)]
    save = (f"sub sp, sp, #{size}",) if size else ()
    restore = (f"add sp, sp, #{size}",) if size else ()
    return Frame(
        (*save, *(f"str {each}" for each in traffic)),
        (*(f"ldr {each}" for each in traffic), *restore, "bx lr"),
        size,
        None,
        function.frame_words,
    )
