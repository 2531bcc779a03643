# SPDX-License-Identifier: MIT
"""Whether each instruction with registers is the one of its text, and reads the values that its text names. Knows nothing of webs
or of the search.

Each way through a function is followed with the names that each register holds at that moment; where ways meet, a register holds
the names that it holds on both. A register that the text names itself holds its own name, until a value takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from aidge_build.base.errors import AidgeError
from aidge_build.contract.kernel_kit.registers.named import (
    CALL,
    ENTERS,
    GET,
    PARAMETER_REGISTERS,
    PUT,
    RESULT,
    Function,
    Step,
    Value,
    called,
    leaves,
)

_Held = dict[str, frozenset[str]]  # the names that a register, or a place where values wait, holds
_TOKEN = re.compile(r"%(?:[qs]\.)?[a-z]\w*|[a-z]\w*|\S")
_PLACE = re.compile(r"\[%argument|%frame\.")
_NAME = re.compile(r"%(\w+)")
_SAVES = re.compile(r"v?push \{([^}]*)\}|mov r[4-7], (r8|r9|r10|r11)|str (\w+), \[sp.*")
_REGISTER = re.compile(r"[rs]\d+|lr")
_MOVES = re.compile(r"(str|ldr|vmov|mov)d? ")
_BLOCK = re.compile(r"(?:it|vps?t)([te]*)(?:\.\w+)?")
_LISTS = re.compile(r"v?(ldm|stm)")
_LINK = 14  # the number of lr
_NUMBER = re.compile(r"[rs](\d+)|lr")
_PRESERVED = frozenset(
    (
        "lr",
        *(f"r{number}" for number in range(4, 12)),
        *(f"q{number}" for number in range(4, 8)),
        *(f"s{number}" for number in range(16, 32)),
    )
)
_SPAN = re.compile(r"([rsdq]|l)(r|\d+)(?:-[rsdq](\d+))?")


def check(
    function: Function,
    printed: Sequence[str],
    parameters: Sequence[str],
    save: Sequence[str],
    where: str,
    passed: int = PARAMETER_REGISTERS,
    preserved: AbstractSet[str] = _PRESERVED,
) -> None:
    """Raises AidgeError for an instruction that reads another value than its text names, or that writes a register of the caller.

    printed: the instruction with registers of each step; "" for one that was left out. save: the instructions of the entry.
    `passed` parameters are in registers; the `preserved` ones are the caller's.
    """
    seen: dict[int, _Held] = {0: _at_entry(function, parameters[:passed])}
    number, todo, registers = 0, [0], list[Mapping[str, str]]()
    try:
        for number, step in enumerate(function.steps):
            registers.append(_registers(step, printed[number]))
        while todo:
            number = todo.pop()
            step = function.steps[number]
            behind = _behind(step, printed[number], registers[number], seen[number])
            for other in step.following:
                met = behind if other not in seen else _both(seen[other], behind)
                if met != seen.get(other):
                    seen[other] = met
                    todo.append(other)
    except _Wrong as error:
        raise AidgeError(f"`{printed[number]}` {error}", where=where, code="KERNEL") from None
    _check_blocks(function, where)
    callers = preserved - _saved(save)
    for step, text, mine in zip(function.steps, printed, registers, strict=True):
        _check_saved(step, text, mine.values(), callers, where)


def _at_entry(function: Function, parameters: Sequence[str]) -> _Held:
    """Returns what registers hold before the first step: the parameters, and themselves where the text names them."""
    own = {value.name for step in function.steps for value in (*step.reads, *step.writes) if not value.kind}
    held = {register: frozenset((_itself(register),)) for register in own}
    for place, name in enumerate(parameters):
        held[f"r{place}"] = held.get(f"r{place}", frozenset()) | {name}
    return held


def _check_blocks(function: Function, where: str) -> None:
    """Nothing moves between registers and waiting places inside of a block that IT, VPST or VPT begins."""
    for number, step in enumerate(function.steps):
        if block := _BLOCK.fullmatch(step.text.split()[0]):
            for inside in function.steps[number + 1 : number + 2 + len(block[1])]:
                if inside.text.startswith((PUT, GET)):
                    raise AidgeError(f"`{inside.text}` is in the block of `{step.text}`", where=where, code="KERNEL")


def _saved(save: Sequence[str]) -> set[str]:
    """Returns the registers that the entry saves."""
    return {
        register for text in save for match in _SAVES.finditer(text) for register in _listed(match[1] or match[2] or match[3])
    }


def _check_saved(step: Step, printed: str, registers: Iterable[str], callers: AbstractSet[str], where: str) -> None:
    """No instruction, with these registers and the ones that its text names, writes one of the caller."""
    named = [value.name for value in step.writes if not value.kind and _REGISTER.fullmatch(value.name)]
    for register in (*registers, *named):
        if register in callers:
            raise AidgeError(f"`{printed}` writes {register} of the caller", where=where, code="KERNEL")


class _Wrong(Exception):
    """A fault of an instruction, in words."""


def _behind(step: Step, printed: str, mine: Mapping[str, str], held: _Held) -> _Held:
    """Returns what registers hold after a step with these registers."""
    if step.text in ENTERS:
        return held
    if step.text.startswith((PUT, GET)):
        return _waited(step.text, printed, held)
    names, written = ([_name(value) for value in values if value.kind] for values in (step.reads, step.writes))
    if step.is_move and len(set(map(mine.get, (*names, *written)))) == 1:  # a move within a register, left out or not
        holders = [register for register, held_names in held.items() if names[0] in held_names]
        return {**_without(held, written), **{register: held[register] | set(written) for register in holders[:1]}}
    _require_read(step, mine, held)
    if len({mine[name] for name in written}) < len(written):
        raise _Wrong("writes two values into one register")
    return {**_without(held, written), **_of_the_text(step), **{mine[name]: frozenset((name,)) for name in written}}


def _require_read(step: Step, mine: Mapping[str, str], held: _Held) -> None:
    """Raises _Wrong unless the registers hold what the step reads: values, and itself what its text names."""
    for value in step.reads:
        if value.kind:
            _require(held, mine[_name(value)], _name(value))
        else:
            _require(held, value.name, _itself(value.name))


def _of_the_text(step: Step) -> _Held:
    """Returns the registers that a text writes itself."""
    return {value.name: frozenset((_itself(value.name),)) for value in step.writes if not value.kind}


def _itself(register: str) -> str:
    """Returns the name, unlike the names of all values, of what a register holds that the text names itself."""
    return f"its own {register}"


def _waited(text: str, printed: str, held: _Held) -> _Held:
    """Returns what registers and places hold after values moved between them."""
    if not _MOVES.match(printed):
        raise _Wrong(f"is no move for `{text}`")
    names = _NAME.findall(text)
    words = re.findall(r"\w+", printed.partition(" ")[2].partition("[")[0])
    if printed.startswith("v"):
        halves = words[: len(names)], words[len(names) :]
        places, registers = halves if text.startswith(PUT) else halves[::-1]
    else:
        first = int(printed.partition("#")[2].rstrip("]"))
        places, registers = [f"sp+{first + 4 * number}" for number in range(len(names))], words
    waiting = [f"w.{name}" for name in names]
    to_places = text.startswith(PUT)
    sources, targets = ((names, registers), (waiting, places))[:: 1 if to_places else -1]
    for name, register in zip(*sources, strict=True):
        _require(held, register, name)
    return {**_without(held, targets[0]), **{place: frozenset((name,)) for name, place in zip(*targets, strict=True)}}


def _require(held: _Held, register: str, name: str) -> None:
    if name not in held.get(register, ()):
        raise _Wrong(f"reads {register}, which does not hold {name}")


def _without(held: _Held, names: Sequence[str]) -> _Held:
    return {register: mine if mine.isdisjoint(names) else mine - {*names} for register, mine in held.items()}


def _both(one: _Held, other: _Held) -> _Held:
    return {register: one[register] & other.get(register, frozenset()) for register in one}


def _registers(step: Step, printed: str) -> Mapping[str, str]:
    """Returns the register in the place of each name."""
    if step.text in ENTERS or step.text.startswith((PUT, GET)):
        return {}
    if leaves(step.text):
        return {value.name: RESULT for value in step.reads}
    if call := CALL.fullmatch(step.text):
        return dict(pair for registers in called(call) for pair in registers.items())
    named, real = (_TOKEN.findall(text) for text in (_PLACE.split(step.text)[0], printed))
    _require_same(step.text, list(zip(named, real, strict=False)))
    _require_rising(printed)
    found: dict[str, str] = {}
    for name, register in zip(named, real, strict=False):
        if name[0] == "%" and register[0] != "%" and found.setdefault(name[1:], register) != register:
            raise _Wrong(f"has two registers for {name[1:]}")
    return found


def _require_same(text: str, words: Sequence[tuple[str, str]]) -> None:
    if any(name[0] != "%" and name != word for name, word in words):
        raise _Wrong(f"is not `{text}` with registers")


def _require_rising(printed: str) -> None:
    if _LISTS.match(printed):
        numbers = [int(number or _LINK) for number in _NUMBER.findall(printed.partition("{")[2])]
        if any(after <= before for before, after in pairwise(numbers)):
            raise _Wrong("has a list of registers that does not rise")


def _name(value: Value) -> str:
    return value.name if value.kind == "r" else f"{value.kind}.{value.name}"


def _listed(words: str) -> list[str]:
    """Returns the registers of a list such as `r4-r7, lr`; double registers as vector and float registers."""
    found: list[str] = []
    for kind, first, last in _SPAN.findall(words):
        if kind == "l":
            found.append("lr")
            continue
        for number in range(int(first), int(last or first) + 1):
            found += [f"s{2 * number}", f"s{2 * number + 1}", f"q{number // 2}"] if kind == "d" else [f"{kind}{number}"]
    return found
