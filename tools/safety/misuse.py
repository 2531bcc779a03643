# SPDX-License-Identifier: MIT
"""A program that calls every function of a model as it must not be called, and ends with 0 if each call is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from aidge_build.build.emit.function import Function
from aidge_build.build.emit.functions import STATE_ALIGNMENT, functions_of
from aidge_build.build.emit.overlaps import apart
from aidge_build.build.emit.ports import Port, ports_of
from aidge_build.plan.program import Program
from aidge_build.run.verify.calling import Calling, calling_of
from tools.safety.damage import damage_functions

_WEIGHTS_ALIGNMENT = 8
_TURNS = 100_000  # more than an inference has pieces


def misuse(program: Program) -> str:
    """Returns the C of the program. Its exit code is the number of the call with the wrong answer, at most 255."""
    calls = _Calls.of(program)
    lines = [*_declarations(program), "int main(void)", "{", *calls.before(), *calls.during(), "    return 0;", "}", ""]
    return "\n".join(lines)


def _declarations(program: Program) -> Iterator[str]:
    name, calling = program.name, calling_of(program)
    yield from (f'#include "{name}.h"', "#include <string.h>")
    for buffer in (*calling.inputs, *calling.outputs):
        yield f"static {buffer.c_type} {buffer.variable}[{buffer.elements} + 64] __attribute__((aligned(64)));"
    for memory, size in (("arena", calling.arena_bytes), ("state", calling.state_bytes)):
        if size:
            yield f"static struct {{ uint8_t bytes[{size} + 64]; }} {memory} __attribute__((aligned(64)));"
    if calling.has_instance:
        yield f"static {name}_instance instance;"
    if program.monitoring is not None:
        yield f"static uint8_t seen[{name.upper()}_MONITOR_BYTES];"
    yield from _damage(program, calling).values()


@dataclass(frozen=True)
class _Calls:
    """Statements that call the functions of a model. `call` has the right call of each function by the end of its name, `empty`
    the calls with no rows, `wrong` the calls that must be refused at any time."""

    program: Program
    calling: Calling
    call: dict[str, str]
    empty: list[str]
    wrong: list[str]
    numbers: Iterator[int]

    @classmethod
    def of(cls, program: Program) -> _Calls:
        calling, ports = calling_of(program), ports_of(program)
        given = _arguments(program, calling, ports)
        functions = {one.symbol.removeprefix(f"{program.name}_"): one for one in functions_of(program, ports)}
        checked = [one for one in functions.values() if one.returns == "int"]
        return cls(
            program,
            calling,
            {word: _call(one, given) for word, one in functions.items()},
            [_call(one, given | {"count": "0"}) for one in functions.values() if "count" in one.arguments],
            [each for one in checked for made in (_variants, _overlaps) for each in made(program, one, given, ports)],
            count(1),
        )

    def before(self) -> Iterator[str]:
        """Yields calls before the first inference in pieces: without weights, then with everything that the model needs."""
        call = self.call
        if self.program.options.replaces_weights and not self.calling.has_instance:
            yield from self._refused(call["run"], *([call["begin"]] if "begin" in call else []))
        yield from self._done(*self.calling.setup)
        yield from self._done(*(f"!{function}()" for function in _damage(self.program, self.calling)))
        yield from self._refused(*self.wrong)
        yield from self._done(call["run"])
        if "monitor" in call:
            yield from self._done(call["monitor"])
        for reset in ("reset", "monitor_reset"):
            if reset in call:
                yield f"    {call[reset]};"
                yield from self._done(call["run"])

    def during(self) -> Iterator[str]:
        """Yields inferences in pieces: left at once, after one piece and after two, and one that ends; else nothing."""
        call = self.call
        if "begin" not in call:
            return
        pieces = [each for word, each in call.items() if word.startswith(("push_", "pull_", "step"))]
        early = [call["end"]] if self.program.progress else []  # in steps it does the rest
        yield from self._refused(*pieces, call["end"])
        yield f"    {call['cancel']};"
        for made in range(3):
            yield from self._done(call["begin"])
            yield from self._refused(call["begin"], call["run"], *self.wrong)
            yield from _called(*self.empty, *pieces * made)
            yield from self._refused(*self.wrong, *early)
            yield f"    {call['cancel']};"
        yield from self._done(call["begin"])
        yield f"    for (int turn = 0; turn < {_TURNS}; turn++) {{"
        yield from _called(*pieces)
        yield "    }"
        yield from _called(call["end"])
        yield f"    {call['cancel']};"
        yield from self._done(call["run"])

    def _refused(self, *calls: str) -> Iterator[str]:
        return (f"    if ({each} == 0) return {min(next(self.numbers), 255)};" for each in calls)

    def _done(self, *calls: str) -> Iterator[str]:
        return (f"    if ({each} != 0) return {min(next(self.numbers), 255)};" for each in calls)


def _damage(program: Program, calling: Calling) -> dict[str, str]:
    return damage_functions(program, "&instance" if calling.has_instance else "", calling.run)


def _called(*calls: str) -> Iterator[str]:
    return (f"    (void){each};" for each in calls)


def _call(function: Function, given: dict[str, str]) -> str:
    return f"{function.symbol}({', '.join(given[name] for name in _names(function))})"


def _names(function: Function) -> list[str]:
    return [f"{function.symbol}:{name}" if name == "rows" else name for name in function.arguments]


def _arguments(program: Program, calling: Calling, ports: tuple[Port, ...]) -> dict[str, str]:
    """Returns a right argument for each parameter of the model's functions."""
    buffers = {port.parameter: one.variable for port, one in zip(ports, (*calling.inputs, *calling.outputs), strict=True)}
    rows = {
        f"{program.name}_{verb}_{port.parameter}:rows": buffers[port.parameter]
        for port in ports
        for verb in ("push", "pull")
        if port.is_input == (verb == "push")
    }
    weights = f"{program.name}_weights"
    return {
        **buffers,
        **rows,
        "self": "&instance",
        "arena": "arena.bytes" if calling.arena_bytes else "0",
        "state": "state.bytes",
        "count": "1",
        "out": "seen",
        "weights": weights,
        "bytes": f"{weights}_bytes",
        "first": weights,
        "second": weights,
    }


def _variants(program: Program, function: Function, given: dict[str, str], ports: tuple[Port, ...]) -> Iterator[str]:
    """Yields calls of the function with one wrong argument each: null, misaligned, too many, too few."""
    right = [given[name] for name in _names(function)]
    for place, name in enumerate(function.arguments):
        for wrong in _wrong(program, function, name, right[place], ports):
            yield f"{function.symbol}({', '.join([*right[:place], wrong, *right[place + 1 :]])})"


def _overlaps(program: Program, function: Function, given: dict[str, str], ports: tuple[Port, ...]) -> Iterator[str]:
    """Yields calls of N_run with two buffers that must not overlap: at one address, and one that begins inside the other."""
    if function.symbol != f"{program.name}_run":
        return
    sizes = {port.parameter: port.tensor.size_bytes for port in ports}
    steps = {port.parameter: port.alignment for port in ports} | {"arena": program.memory.alignment}
    pairs = [(one.parameter, other.parameter) for one, other in apart(program, ports)]
    if "arena" in function.arguments and program.memory.arena.peak_bytes:
        pairs += [("arena", port.parameter) for port in ports]
    for one, other in pairs:
        moved = [{one: given[other]}]
        if steps[one] < sizes[other]:
            moved.append({one: f"(void *)((uintptr_t){given[other]} + {steps[one]}u)"})
        for change in moved:
            yield f"{function.symbol}({', '.join(change.get(name, given[name]) for name in function.arguments)})"


def _wrong(program: Program, function: Function, name: str, right: str, ports: tuple[Port, ...]) -> Iterator[str]:
    if name == "count":
        yield from ("-1", "0x7fffffff")
    elif name == "bytes":
        yield from ("0", "8") if "weights" in function.arguments else ()
    elif right != "0":  # an arena of no bytes may be null
        yield "0"
        if _alignment(program, function, name, ports) > 1:
            yield f"(void *)((uintptr_t){right} + 1u)"


def _alignment(program: Program, function: Function, name: str, ports: tuple[Port, ...]) -> int:
    """Returns the bytes that the function checks the alignment of a pointer for."""
    if name == "rows":
        return max(port.tensor.dtype.size_bytes for port in ports if function.symbol.endswith(f"_{port.parameter}"))
    fixed = {"arena": program.memory.alignment, "state": STATE_ALIGNMENT, "weights": _WEIGHTS_ALIGNMENT}
    return fixed.get(name) or max((port.alignment for port in ports if port.parameter == name), default=1)
