# SPDX-License-Identifier: MIT
"""Input and output by rows: the functions N_begin, N_push_<input>, N_pull_<output>, N_end and N_cancel, and what the model
remembers between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.build.emit.places import RUN_ARENA, RUN_STATE, RUN_WEIGHTS
from aidge_build.build.emit.ports import Port
from aidge_build.build.emit.replaced import bound_of
from aidge_build.plan.cascade.cascade import Line
from aidge_build.plan.program import Program


@dataclass(frozen=True)
class Side:
    """An input or output by rows: the parameter of N_run, how many rows there are, and how the firmware must align them."""

    parameter: str
    rows: int
    row_bytes: int
    alignment: int

    @staticmethod
    def of(port: Port | None, line: Line | None) -> Side | None:
        """Returns the side by rows; None for a whole input or output."""
        return None if port is None or line is None else Side(port.parameter, line.height, line.row_bytes, port.alignment)


@dataclass(frozen=True)
class RowsText:
    """The values for the template. `fields` are the declarations of N_progress; `begun` are the assignments of N_begin, `told`
    the declarations and names of its pointers; `brought` is the input, `taken` the output by rows. `arenas` are the arrays in
    C text. `pushed` and `pulled` begin the calls that go on with the waiting cascades, `ended` is the call in N_end; the layers
    before the output run when `prepared` (not 0) is the number of the next step, with `locals`, as (declaration, value).
    `steps` is the last step of the cascade that rows are pushed to, `missing` is the condition that rows are missing."""

    type: str
    symbol: str
    at: str  # C text: its address
    fields: tuple[str, ...]
    count_type: str
    begun: tuple[str, ...]
    told: tuple[tuple[str, str], ...]
    brought: Side | None
    taken: Side | None
    takes_turns: bool
    arenas: tuple[str, ...]
    steps: int
    prepared: int
    missing: str
    pushed: str
    pulled: str
    ended: str
    locals: tuple[tuple[str, str], ...]


def progress_type(program: Program) -> str:
    """The struct's C name."""
    return f"{program.name}_progress"


def progress_symbol(program: Program) -> str:
    """The C name of the array that holds it where the model owns its memory."""
    return f"{program.name}_rows"


def owns_progress(program: Program) -> bool:
    """Whether the generated code defines it."""
    return program.options.arena == "static" and program.progress is not None


def arriving_port(program: Program, ports: tuple[Port, ...]) -> Port | None:
    """The input that comes by rows."""
    by_rows = program.progress is not None and program.progress.arriving is not None
    return next((port for port in ports if port.is_input), None) if by_rows else None


def departing_port(program: Program, ports: tuple[Port, ...]) -> Port | None:
    """The output that leaves by rows."""
    by_rows = program.progress is not None and program.progress.departing is not None
    return next((port for port in ports if not port.is_input), None) if by_rows else None


def ports_by_rows(program: Program, ports: tuple[Port, ...]) -> tuple[Port, ...]:
    """The input and the output that go by rows."""
    return tuple(port for port in (arriving_port(program, ports), departing_port(program, ports)) if port is not None)


def told(program: Program, ports: tuple[Port, ...]) -> tuple[Port, ...]:
    """The inputs and outputs that N_begin gets."""
    if program.options.io != "caller":
        return ()
    by_rows = ports_by_rows(program, ports)
    return tuple(port for port in ports if port not in by_rows)


def progress_fields(program: Program, ports: tuple[Port, ...]) -> tuple[str, ...]:
    """The struct's fields as `Progress` counts them."""
    progress = program.progress
    assert progress is not None
    return (
        *(port.declaration for port in told(program, ports)),
        *(f"uint32_t at_{number}" for number in range(progress.cursors)),
        *(f"{_count_type(program)} {name}" for name in progress.counts),
        "uint16_t step",
    )


def _count_type(program: Program) -> str:
    assert program.progress is not None
    return f"uint{8 * program.progress.count_bytes}_t"


def first_steps(program: Program) -> dict[str, int]:
    """Returns, by its first layer, the number of the first step of each waiting cascade. Between two cascades, and before a
    cascade without an input by rows, one number belongs to the layers that run then."""
    found, reached = dict[str, int](), 1
    for cascade in program.progress.waiting if program.progress else ():
        reached += 0 if cascade.arriving else 1
        found[cascade.nodes[0]] = reached
        reached += len(cascade.steps)
    return found


@dataclass(frozen=True)
class WaitingCascade:
    """The function of a cascade that waits, the ends of the names of the arena's parts that it gets, and where the weights are
    that it gets ("": none)."""

    symbol: str
    endings: tuple[str, ...]
    weights: str = ""


def rows_text(
    program: Program, ports: tuple[Port, ...], prepared: Sequence[str], waiting: Sequence[WaitingCascade]
) -> RowsText | None:
    """Returns the values for the template, None for a model without input or output by rows. `prepared` are the arguments of the
    layers that run before the output leaves, `waiting` are the functions of the waiting cascades."""
    progress = program.progress
    if progress is None:
        return None
    given = told(program, ports)
    brought = Side.of(arriving_port(program, ports), progress.arriving)
    taken = Side.of(departing_port(program, ports), progress.departing)
    last, calls = progress.waiting[-1], [_call(program, one) for one in waiting]
    arena = _arena(program, waiting[-1].endings[0])
    nothing = ", ".join([*((f"(const uint8_t *){arena}", "0u") if last.arriving else ()), arena, "0u"])
    return RowsText(
        progress_type(program),
        progress_symbol(program),
        f"&{progress_symbol(program)}" if owns_progress(program) else "&self->progress",
        progress_fields(program, ports),
        _count_type(program),
        (
            *(f"{one.parameter} = {one.parameter}" for one in given),
            *(f"at_{number} = 0u" for number in range(progress.cursors)),
            *(f"{name} = 0u" for name in progress.counts),
            "step = 1u",
        ),
        tuple((pointer_to(one), one.parameter) for one in given),
        brought,
        taken,
        progress.takes_turns,
        tuple(_arena(program, ending) for ending in waiting[0].endings),
        len(progress.waiting[0].steps),
        0 if last.arriving or not last.departing else first_steps(program)[last.nodes[0]] - 1,
        " || ".join(f"at->{count} != {side.rows}u" for count, side in (("rows", brought), ("gone", taken)) if side),
        calls[0],
        calls[-1],
        f"{calls[-1]}, at, {nothing});",
        _locals(program, given, prepared),
    )


def _locals(program: Program, given: Sequence[Port], prepared: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The pointers that these C texts name, as (declaration, value)."""
    known = [(f"uint8_t *const {RUN_ARENA}{part.ending}", _arena(program, part.ending)) for part in program.memory.parts]
    known.append((f"uint8_t *const {RUN_STATE}", f"{program.name}_state" if owns_progress(program) else "self->state"))
    known.append((f"const uint8_t *const {RUN_WEIGHTS}", bound_of(program)))
    known += [(pointer_to(port), f"at->{port.parameter}") for port in given]
    words = set(re.findall(r"\w+", " ".join(prepared)))
    return tuple((declared, value) for declared, value in known if declared.split("*const ")[1] in words)


def _call(program: Program, cascade: WaitingCascade) -> str:
    memories = (*(_arena(program, ending) for ending in cascade.endings), *((cascade.weights,) if cascade.weights else ()))
    return f"{cascade.symbol}({', '.join(memories)}"


def pointer_to(port: Port) -> str:
    """The declaration of a local pointer that stays as it is."""
    return f"{'const ' if port.is_input else ''}{port.tensor.dtype.c_type} *const {port.parameter}"


def _arena(program: Program, ending: str) -> str:
    return f"{program.name}_arena{ending}" if owns_progress(program) else "self->arena"
