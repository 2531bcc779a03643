# SPDX-License-Identifier: MIT
"""Input by rows: the functions N_begin, N_push_<input>, N_end and N_cancel, and what the model remembers between them."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.emit.ports import Port
from aidge_build.program import Program


@dataclass(frozen=True)
class RowsText:
    """What the template needs. `fields` are the declarations of N_progress; `begun` are the assignments
    of N_begin, `input` is the parameter of N_run."""

    type: str
    symbol: str
    at: str  # C text: its address
    input: str
    fields: tuple[str, ...]
    count_type: str
    rows: int
    row_bytes: int
    begun: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]  # declarations and names of what N_begin was told
    alignment: int  # of the rows that are pushed


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
    return next((port for port in ports if port.is_input), None) if program.progress else None


def told(program: Program, ports: tuple[Port, ...]) -> tuple[Port, ...]:
    """The outputs that N_begin gets."""
    return tuple(port for port in ports if not port.is_input) if program.options.io == "caller" else ()


def progress_fields(program: Program, ports: tuple[Port, ...]) -> tuple[str, ...]:
    """The struct's fields as `Progress` counts them."""
    progress = program.progress
    assert progress is not None
    count = f"uint{8 * progress.count_bytes}_t"
    return (
        *(port.declaration for port in told(program, ports)),
        *(f"uint32_t at_{number}" for number in range(progress.cursors)),
        f"{count} rows",
        f"{count} part",
        "uint16_t step",
    )


def rows_text(program: Program, ports: tuple[Port, ...]) -> RowsText | None:
    """None for a model whose input comes as a whole."""
    progress, port = program.progress, arriving_port(program, ports)
    if progress is None or port is None:
        return None
    outputs = told(program, ports)
    return RowsText(
        progress_type(program),
        progress_symbol(program),
        f"&{progress_symbol(program)}" if owns_progress(program) else "&self->progress",
        port.parameter,
        progress_fields(program, ports),
        f"uint{8 * progress.count_bytes}_t",
        progress.line.height,
        progress.line.row_bytes,
        (
            *(f"{one.parameter} = {one.parameter}" for one in outputs),
            *(f"at_{number} = 0u" for number in range(progress.cursors)),
            "rows = 0u",
            "part = 0u",
            "step = 1u",
        ),
        tuple((f"{one.tensor.dtype.c_type} *const {one.parameter}", one.parameter) for one in outputs),
        port.alignment,
    )
