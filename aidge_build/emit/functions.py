# SPDX-License-Identifier: MIT
"""The functions that the firmware calls: docs/c-api.md as data. A model gets those that it uses."""

from __future__ import annotations

from aidge_build.emit.bind import bind_functions
from aidge_build.emit.function import Function
from aidge_build.emit.ports import Port
from aidge_build.emit.rows import arriving_port, told
from aidge_build.emit.step_functions import step_functions
from aidge_build.program import Program

STATE_ALIGNMENT = 8  # bytes: of N_state, enough for every type of element


def has_instances(program: Program) -> bool:
    """Whether functions get `N_instance *self`: with what is remembered between calls and is the firmware's, as the arena is."""
    waits = program.progress is not None or program.waiting is not None
    remembers = program.states.size_bytes > 0 or waits or program.options.replaces_weights
    return program.options.arena == "caller" and remembers


def functions_of(program: Program, ports: tuple[Port, ...]) -> tuple[Function, ...]:
    """N_run, and what a model with state, an input by rows or steps has beside it."""
    name = program.name
    run = _run(program, ports)
    self = (f"{name}_instance *self",) if has_instances(program) else ()
    arguments = ("self",) if self else ()
    reset = Function(
        f"{name}_reset", "void", self, arguments, ("Gives the state its initial value again: what the next call sees.",)
    )
    others = (
        *((reset,) if program.states.size_bytes else ()),
        *_by_rows(program, ports, self, arguments),
        *step_functions(program, ports, self, arguments),
        *bind_functions(program, self, arguments),
    )
    return (_init(program, self, arguments), run, *others) if self else (run, *others)


def _by_rows(
    program: Program, ports: tuple[Port, ...], self: tuple[str, ...], arguments: tuple[str, ...]
) -> tuple[Function, ...]:
    """What an inference consists of whose input comes row by row."""
    port, name = arriving_port(program, ports), program.name
    if port is None:
        return ()
    prefix, outputs = name.upper(), told(program, ports)
    codes = f"{prefix}_POINTER when a pointer is null or misaligned"
    push = f"{name}_push_{port.parameter}"
    begin = (
        f"Begins an inference whose input comes by rows: then {push} until all are there, then {name}_end.",
        *(f"`{one.parameter}`: {one.macro}_SIZE elements, the caller's until {name}_end returns." for one in outputs),
        f"Returns {prefix}_OK; {codes}, {prefix}_ORDER when one has begun already: with nothing done.",
    )
    pushed = (
        f"Takes the next `count` rows, {port.macro}_ROW_BYTES each, of {port.macro}_ROWS in all, and computes what they allow.",
        "They are not needed after the call.",
        f"Returns {prefix}_OK; {codes}, {prefix}_ORDER when none has begun, or fewer rows are missing:",
        "with nothing done.",
    )
    end = (
        "Computes the rest, and ends the inference.",
        f"Returns {prefix}_OK with the outputs there; {prefix}_ORDER when rows are missing: with nothing done.",
    )
    rows = f"const {port.tensor.dtype.c_type} *rows"
    return (
        Function(
            f"{name}_begin",
            "int",
            (*self, *(one.declaration for one in outputs)),
            (*arguments, *(one.parameter for one in outputs)),
            begin,
        ),
        Function(push, "int", (*self, rows, "int32_t count"), (*arguments, "rows", "count"), pushed),
        Function(f"{name}_end", "int", self, arguments, end),
        Function(f"{name}_cancel", "void", self, arguments, ("Leaves an inference that has begun; nothing else has changed.",)),
    )


def _init(program: Program, self: tuple[str, ...], arguments: tuple[str, ...]) -> Function:
    prefix, has_state = program.name.upper(), program.states.size_bytes > 0
    between = "inferences" if program.progress or program.waiting else "calls"
    arena = f"{prefix}_ARENA_BYTES at a multiple of {prefix}_ARENA_ALIGNMENT, may be used by others between {between}"
    comment = (
        f"Makes an instance, in any memory{', with its own state' if has_state else ''}: before all other functions. "
        "Instances share code and constants.",
        f"`arena`: {arena if program.arena.peak_bytes else 'not used by this model, may be null'};",
        *((f"`state`: {prefix}_STATE_BYTES at a multiple of {prefix}_STATE_ALIGNMENT, of this instance alone.",) * has_state),
        "Returns 0; 1 when a pointer is null or misaligned, with nothing done.",
    )
    given = ("arena", *(("state",) * has_state))
    return Function(f"{program.name}_init", "int", (*self, *(f"void *{one}" for one in given)), (*arguments, *given), comment)


def _run(program: Program, ports: tuple[Port, ...]) -> Function:
    arriving = arriving_port(program, ports)
    given = ports if program.options.io == "caller" else (arriving,) if arriving else ()
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
    if program.states.size_bytes:
        lines[0] = "Evaluates the network once: the next value of its state is there afterwards."
    if has_instances(program):
        lines.append(f"`self`: an instance of {program.name}_init.")
    elif program.options.arena == "caller":
        room = f"{prefix}_ARENA_BYTES bytes at a multiple of {prefix}_ARENA_ALIGNMENT; their content need not be kept"
        lines.append(f"`arena`: {room if program.arena.peak_bytes else 'not used by this model, may be null'}.")
    if program.options.io == "caller":
        for port in ports:
            multiple = f" at a multiple of {port.alignment} bytes" if port.alignment > 1 else ""
            lines.append(f"`{port.parameter}`: {port.macro}_SIZE elements{multiple}.")
        if len(ports) > 1:
            lines.append("Buffers must not overlap.")
    else:
        argument = "(arena)" if program.options.arena == "caller" else ""
        for port in ports:
            if port.is_input and program.progress:
                lines.append(f"`{port.parameter}`: {port.macro}_SIZE elements: all rows at once.")
                continue
            pointer = f"{port.macro}{argument}"
            lines.append(f"Write {pointer} before the call." if port.is_input else f"Read {pointer} after the call.")
        if not program.progress:
            lines.append("Inputs do not survive the call: the arena is used again for what follows.")
    if program.waiting:
        lines.append(f"{prefix}_ORDER when an inference in steps has begun: {program.name}_end or {program.name}_cancel first.")
    if program.progress:
        lines.append(f"{prefix}_ORDER when an inference by rows has begun: {program.name}_end or {program.name}_cancel first.")
    if program.options.replaces_weights:
        lines.append(f"{prefix}_WEIGHTS before {program.name}_bind has taken any.")
    failure = "1 when a pointer is null or misaligned, with nothing computed" if can_fail else "there is no failure"
    return (*lines, f"Returns 0; {failure}." + (" Not reentrant." if program.options.arena == "static" else ""))
