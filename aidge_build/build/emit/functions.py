# SPDX-License-Identifier: MIT
"""The functions that the firmware calls: docs/c-api.md as data. A model gets the functions that it uses."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.build.emit.bind import bind_functions
from aidge_build.build.emit.function import Function
from aidge_build.build.emit.integrity import integrity_functions, refusals
from aidge_build.build.emit.monitor import api_functions
from aidge_build.build.emit.overlaps import overlap_checks, overlap_words
from aidge_build.build.emit.ports import Port
from aidge_build.build.emit.rows import arriving_port, departing_port, ports_by_rows, told
from aidge_build.build.emit.step_functions import step_functions
from aidge_build.plan.integrity import CANARY_BYTES, canary_offsets
from aidge_build.plan.program import Program

STATE_ALIGNMENT = 8  # bytes: of N_state, enough for every type of element
_BAD_POINTER = "when a pointer is null or misaligned"


def has_instances(program: Program) -> bool:
    """Whether functions get `N_instance *self`, which holds the values between calls; the firmware owns it, like the arena."""
    options = program.options
    remembers = program.memory.states.size_bytes > 0 or program.takes_several_calls or options.replaces_weights
    checks = options.integrity != "off" or program.monitoring is not None
    return options.arena == "caller" and (remembers or checks)


def functions_of(program: Program, ports: tuple[Port, ...]) -> tuple[Function, ...]:
    """Returns N_run, and further functions of a model with state, an input or output by rows, or steps."""
    name = program.name
    run = _run(program, ports)
    self = (f"{name}_instance *self",) if has_instances(program) else ()
    arguments = ("self",) if self else ()
    reset = Function(f"{name}_reset", "void", self, arguments, ("Sets the state to its initial value for the next call.",))
    others = (
        *((reset,) if program.memory.states.size_bytes else ()),
        *_by_rows(program, ports, self, arguments),
        *step_functions(program, ports, self, arguments),
        *bind_functions(program, self, arguments),
        *integrity_functions(program, self, arguments),
        *api_functions(program, self, arguments),
    )
    return (_init(program, self, arguments), run, *others) if self else (run, *others)


def _by_rows(
    program: Program, ports: tuple[Port, ...], self: tuple[str, ...], arguments: tuple[str, ...]
) -> tuple[Function, ...]:
    """Returns the functions of an inference with an input or an output row by row."""
    arriving, departing, name = arriving_port(program, ports), departing_port(program, ports), program.name
    if arriving is None and departing is None:
        return ()
    prefix, given = name.upper(), told(program, ports)
    push = f"{name}_push_{arriving.parameter}" if arriving else ""
    pull = f"{name}_pull_{departing.parameter}" if departing else ""
    calls = " and ".join(f"{call} until all {state}" for call, state in ((push, "are there"), (pull, "are gone")) if call)
    codes = f"{prefix}_POINTER {_BAD_POINTER}"
    begin = (
        f"Begins an inference by rows: then {calls}, then {name}_end.",
        *(f"`{one.parameter}`: {one.macro}_SIZE elements, in use until {name}_end returns." for one in given),
        f"Returns {prefix}_OK; {codes}, {prefix}_ORDER when one has begun already; then nothing is done.",
    )
    end = (
        "Computes the rest, and ends the inference.",
        f"Returns {prefix}_OK with the outputs ready; {prefix}_ORDER when rows are missing; then nothing is done.",
    )
    turns = program.progress is not None and program.progress.takes_turns
    return (
        Function(
            f"{name}_begin",
            "int",
            (*self, *(one.declaration for one in given)),
            (*arguments, *(one.parameter for one in given)),
            begin,
        ),
        *((_push(arriving, push, pull if turns else "", prefix, self, arguments),) if arriving else ()),
        *((_pull(departing, pull, push, turns, prefix, self, arguments),) if departing else ()),
        Function(f"{name}_end", "int", self, arguments, end),
        Function(f"{name}_cancel", "void", self, arguments, ("Leaves an inference that has begun; nothing else changes.",)),
    )


def _push(port: Port, push: str, pull: str, prefix: str, self: tuple[str, ...], arguments: tuple[str, ...]) -> Function:
    more = (
        f"{prefix}_MORE when rows of the output must leave first: {pull}, then this again with the same rows, to take the others."
    )
    comment = (
        f"Takes the next `count` rows, {port.macro}_ROW_BYTES each, of {port.macro}_ROWS in all, and computes what they allow.",
        "The rows are not needed after the call."
        if not pull
        else f"The rows are not needed after a call that returns {prefix}_OK.",
        *((more,) if pull else ()),
        f"Returns {prefix}_OK; {prefix}_POINTER {_BAD_POINTER}, {prefix}_ORDER when none has begun, or fewer rows are missing;",
        "then nothing is done.",
    )
    rows = f"const {port.tensor.dtype.c_type} *rows"
    return Function(push, "int", (*self, rows, "int32_t count"), (*arguments, "rows", "count"), comment)


def _pull(
    port: Port, pull: str, push: str, turns: bool, prefix: str, self: tuple[str, ...], arguments: tuple[str, ...]
) -> Function:
    again = "then this again into the same rows, to write the others." if turns else "nothing is done."
    comment = (
        f"Computes the next `count` rows, {port.macro}_ROW_BYTES each, of {port.macro}_ROWS in all.",
        *((f"{prefix}_MORE when rows of the input are missing: {push}, {again}",) if push and turns else ()),
        *((f"{prefix}_MORE when rows of the input are missing: {push} first, {again}",) if push and not turns else ()),
        f"Returns {prefix}_OK with the rows there; {prefix}_POINTER {_BAD_POINTER}, {prefix}_ORDER when",
        "none has begun, or fewer rows are left; then nothing is done.",
    )
    return Function(
        pull, "int", (*self, f"{port.tensor.dtype.c_type} *rows", "int32_t count"), (*arguments, "rows", "count"), comment
    )


def _init(program: Program, self: tuple[str, ...], arguments: tuple[str, ...]) -> Function:
    prefix, has_state = program.name.upper(), program.memory.states.size_bytes > 0
    between = "inferences" if program.takes_several_calls else "calls"
    arena = f"{prefix}_ARENA_BYTES at a multiple of {prefix}_ARENA_ALIGNMENT, free for other use between {between}"
    if canary_offsets(program.memory.arena):
        arena = f"{arena}, but for its last {CANARY_BYTES} bytes, which only the model writes"
    comment = (
        f"Makes an instance, in any memory{', with its own state' if has_state else ''}. Call it before all other functions. "
        "Instances share code and constants.",
        f"`arena`: {arena if program.memory.arena.peak_bytes else 'not used by this model, may be null'};",
        *((f"`state`: {prefix}_STATE_BYTES at a multiple of {prefix}_STATE_ALIGNMENT, only for this instance.",) * has_state),
        "Returns 0; 1 when a pointer is null or misaligned; then nothing is done.",
    )
    given = ("arena", *(("state",) * has_state))
    return Function(f"{program.name}_init", "int", (*self, *(f"void *{one}" for one in given)), (*arguments, *given), comment)


def _run(program: Program, ports: tuple[Port, ...]) -> Function:
    given = ports if program.options.io == "caller" else ports_by_rows(program, ports)
    first: tuple[tuple[str, str], ...] = ()
    if has_instances(program):
        first = ((f"{program.name}_instance *self", "self"),)
    elif program.options.arena == "caller":
        first = (("void *arena", "arena"),)
    parameters = (*(declaration for declaration, _ in first), *(port.declaration for port in given))
    arguments = (*(name for _, name in first), *(port.parameter for port in given))
    return Function(f"{program.name}_run", "int", parameters, arguments, _run_comment(program, ports, bool(parameters)))


def _run_comment(program: Program, ports: tuple[Port, ...], can_fail: bool) -> tuple[str, ...]:
    prefix = program.name.upper()
    lines = ["Evaluates the network once."]
    if program.memory.states.size_bytes:
        lines[0] = "Evaluates the network once, and sets the state to its next value."
    if has_instances(program):
        lines.append(f"`self`: an instance of {program.name}_init.")
    elif program.options.arena == "caller":
        room = f"{prefix}_ARENA_BYTES bytes at a multiple of {prefix}_ARENA_ALIGNMENT; their content may change between calls"
        lines.append(f"`arena`: {room if program.memory.arena.peak_bytes else 'not used by this model, may be null'}.")
    lines += _of_caller(program, ports) if program.options.io == "caller" else _of_arena(program, ports)
    if program.waiting:
        lines.append(f"{prefix}_ORDER when an inference in steps has begun: {program.name}_end or {program.name}_cancel first.")
    if program.progress:
        lines.append(f"{prefix}_ORDER when an inference by rows has begun: {program.name}_end or {program.name}_cancel first.")
    if program.options.replaces_weights:
        lines.append(f"{prefix}_WEIGHTS before {program.name}_bind has accepted weights.")
    lines += refusals(program)
    is_compared = bool(overlap_checks(program, ports, "arena" if program.options.arena == "caller" else ""))
    wrong = "is null, misaligned, or overlaps another buffer" if is_compared else "is null or misaligned"
    failure = f"1 when a pointer {wrong}; then nothing is computed" if can_fail else "it cannot fail"
    returns = "Returns 0." if refusals(program) and not can_fail else f"Returns 0; {failure}."
    return (*lines, returns, _concurrency(program))


def _of_caller(program: Program, ports: tuple[Port, ...]) -> Iterator[str]:
    """Yields the lines in N_run's comment about inputs and outputs that the firmware owns."""
    for port in ports:
        multiple = f" at a multiple of {port.alignment} bytes" if port.alignment > 1 else ""
        yield f"`{port.parameter}`: {port.macro}_SIZE elements{multiple}."
    yield from overlap_words(program, ports)


def _of_arena(program: Program, ports: tuple[Port, ...]) -> Iterator[str]:
    """Yields the lines in N_run's comment about inputs and outputs in the arena."""
    argument = "(arena)" if program.options.arena == "caller" else ""
    for port in ports:
        if port in ports_by_rows(program, ports):
            yield f"`{port.parameter}`: {port.macro}_SIZE elements: all rows at once."
        else:
            verb, when = ("Write", "before") if port.is_input else ("Read", "after")
            yield f"{verb} {port.macro}{argument} {when} the call."
    if not arriving_port(program, ports):
        yield "The call overwrites the inputs: layers reuse their bytes."


def _concurrency(program: Program) -> str:
    """Returns the sentence about calls during a call."""
    if program.options.arena == "static":
        return "Not reentrant: only one task or interrupt handler at a time may call (--arena caller: one for each arena)."
    if has_instances(program):
        return "Reentrant for different instances with different arenas, in tasks and interrupt handlers; not for one instance."
    return "Reentrant: calls that may interrupt each other, or run on two cores, need different arenas."
