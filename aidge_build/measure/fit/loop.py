# SPDX-License-Identifier: MIT
"""The loop in which the smallest firmware runs a model, and the buffers of the firmware for it."""

from __future__ import annotations

from aidge_build.build.emit.ports import Port, ports_of
from aidge_build.build.emit.rows import arriving_port, departing_port, told
from aidge_build.plan.cascade.cascade import Line
from aidge_build.plan.program import Program
from aidge_build.run.verify.calling import Buffer, calling_of


def loop_of(program: Program) -> tuple[list[Buffer], list[str]]:
    """Returns the arrays for inputs and outputs, and the statements of the loop. If inputs and outputs are in the arena, the
    firmware has no copies of them; if they go by rows, it has one row."""
    calling = calling_of(program)
    if program.progress is None:
        whole = (*calling.inputs, *calling.outputs) if program.options.io == "caller" else ()
        return list(whole), _call(calling.run)
    ports, name = ports_of(program), program.name
    self = ["&instance"] if calling.has_instance else []
    buffers = dict(zip(ports, (*calling.inputs, *calling.outputs), strict=True))
    given = [buffers[port] for port in told(program, ports)]
    arriving, departing = arriving_port(program, ports), departing_port(program, ports)
    rows = [_row(port, line) for port, line in _by_rows(program, arriving, departing)]
    pulls = [f"{name}_pull_{departing.parameter}({', '.join([*self, rows[-1].variable, '1'])}) == 0"] if departing else []
    text = [*_call(f"{name}_begin({', '.join([*self, *(buffer.variable for buffer in given)])})")]
    if arriving:
        line = program.progress.arriving
        text += [f"for (int32_t row = 0; row < {line.height if line else 0}; row++) {{"]
        text += [
            f"    {each}" for each in _call(f"{name}_push_{arriving.parameter}({', '.join([*self, rows[0].variable, '1'])})")
        ]
        text += [each for pull in pulls for each in (f"    while ({pull})", "        continue;")] + ["}"]
    else:
        text += [each for pull in pulls for each in (f"while ({pull})", "    continue;")]
    return [*given, *rows], [*text, *_call(f"{name}_end({', '.join(self)})")]


def _by_rows(program: Program, arriving: Port | None, departing: Port | None) -> list[tuple[Port, Line]]:
    """The ports that go by rows, with their lines."""
    progress = program.progress
    sides = ((arriving, progress.arriving), (departing, progress.departing)) if progress else ()
    return [(port, line) for port, line in sides if port is not None and line is not None]


def _row(port: Port, line: Line) -> Buffer:
    """The array of one row."""
    return Buffer(f"row_of_{port.parameter}", port.tensor.dtype.c_type, line.row_bytes // port.tensor.dtype.size_bytes)


def _call(text: str) -> list[str]:
    return [f"if ({text} != 0)", "    return 1;"]
