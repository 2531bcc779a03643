# SPDX-License-Identifier: MIT
"""The functions of an inference in steps, as docs/c-api.md has them."""

from __future__ import annotations

from aidge_build.build.emit.function import Function
from aidge_build.build.emit.ports import Port
from aidge_build.plan.program import Program


def step_functions(
    program: Program, ports: tuple[Port, ...], self: tuple[str, ...], arguments: tuple[str, ...]
) -> tuple[Function, ...]:
    """Returns the functions of an inference in steps."""
    if program.waiting is None:
        return ()
    name, prefix = program.name, program.name.upper()
    given = ports if program.options.io == "caller" else ()
    order = f"{prefix}_ORDER when one has begun already; then nothing is done."
    pointer = f"{prefix}_POINTER when a pointer is null or misaligned, " if given or self else ""
    begin = (
        f"Begins an inference in steps: then {name}_step until it returns {prefix}_OK, or {name}_end for the whole rest.",
        *((f"The buffers are in use until then; they are as for {name}_run.",) if given else ()),
        f"Returns {prefix}_OK; {pointer}{order}",
    )
    step = (
        f"Computes the next of {prefix}_STEPS steps, with about {prefix}_MAX_STEP_INSTRUCTIONS instructions or fewer.",
        f"Returns {prefix}_MORE while there is more to do, {prefix}_OK with the outputs ready;",
        f"{f'{prefix}_POINTER when a pointer is null, ' if self else ''}{prefix}_ORDER when none has begun: nothing is done.",
    )
    end = (
        "Computes the rest, and ends the inference.",
        f"Returns {prefix}_OK with the outputs ready; {prefix}_ORDER when none has begun; then nothing is done.",
    )
    return (
        Function(
            f"{name}_begin",
            "int",
            (*self, *(port.declaration for port in given)),
            (*arguments, *(port.parameter for port in given)),
            begin,
        ),
        Function(f"{name}_step", "int", self, arguments, step),
        Function(f"{name}_end", "int", self, arguments, end),
        Function(f"{name}_cancel", "void", self, arguments, ("Leaves an inference that has begun; nothing else changes.",)),
    )
