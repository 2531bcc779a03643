# SPDX-License-Identifier: MIT
"""The functions that the firmware calls: docs/c-api.md as data. A model gets those that it uses."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.emit.ports import Port
from aidge_build.program import Program

STATE_ALIGNMENT = 8  # bytes: of N_state, enough for every type of element


@dataclass(frozen=True)
class Function:
    """A function of N.h. `parameters` are C declarations, `arguments` the same names; both empty where there are none."""

    symbol: str
    returns: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    comment: tuple[str, ...]

    @property
    def signature(self) -> str:
        """What stands between the parentheses."""
        return ", ".join(self.parameters) or "void"

    @property
    def passed(self) -> str:
        """The arguments of a call with the same names."""
        return ", ".join(self.arguments)


def has_instances(program: Program) -> bool:
    """Whether functions get `N_instance *self`: with state that the firmware owns, as it owns the arena."""
    return program.options.arena == "caller" and program.states.size_bytes > 0


def functions_of(program: Program, ports: tuple[Port, ...]) -> tuple[Function, ...]:
    """N_run, and what a model with state has beside it."""
    name = program.name
    run = _run(program, ports)
    if not program.states.size_bytes:
        return (run,)
    self = (f"{name}_instance *self",) if has_instances(program) else ()
    arguments = ("self",) if self else ()
    reset = Function(
        f"{name}_reset", "void", self, arguments, ("Gives the state its initial value again: what the next call sees.",)
    )
    if not self:
        return run, reset
    prefix = name.upper()
    arena = f"{prefix}_ARENA_BYTES at a multiple of {prefix}_ARENA_ALIGNMENT, may be used by others between calls"
    comment = (
        "Makes an instance, in any memory, with its own state: before all other functions. Instances share code and constants.",
        f"`arena`: {arena if program.arena.peak_bytes else 'not used by this model, may be null'};",
        f"`state`: {prefix}_STATE_BYTES at a multiple of {prefix}_STATE_ALIGNMENT, of this instance alone.",
        "Returns 0; 1 when a pointer is null or misaligned, with nothing done.",
    )
    init = Function(f"{name}_init", "int", (*self, "void *arena", "void *state"), (*arguments, "arena", "state"), comment)
    return init, run, reset


def _run(program: Program, ports: tuple[Port, ...]) -> Function:
    given = ports if program.options.io == "caller" else ()
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
            pointer = f"{port.macro}{argument}"
            lines.append(f"Write {pointer} before the call." if port.is_input else f"Read {pointer} after the call.")
        lines.append("Inputs do not survive the call: the arena is used again for what follows.")
    failure = "1 when a pointer is null or misaligned, with nothing computed" if can_fail else "there is no failure"
    return (*lines, f"Returns 0; {failure}." + (" Not reentrant." if program.options.arena == "static" else ""))
