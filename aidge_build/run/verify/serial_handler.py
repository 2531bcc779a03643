# SPDX-License-Identifier: MIT
"""N_serial.c: the firmware's end of `verify --serial`."""

from __future__ import annotations

from importlib.resources import files

from aidge_build.base.render import render
from aidge_build.base.version import VERSION
from aidge_build.build.emit import interface_of
from aidge_build.plan.program import Program
from aidge_build.run.verify.calling import calling_of


def handler_name(program: Program) -> str:
    """The name of the file."""
    return f"{program.name}_serial.c"


def handler_text(program: Program) -> str:
    """Returns the C file, which the firmware compiles beside N.c, and which refuses any other N.h."""
    view = program.view
    return render(
        files(__package__).joinpath("serial_handler.c.j2").read_text(),
        name=program.name,
        macro=program.name.upper(),
        version=VERSION,
        digest=interface_of(program),
        call=calling_of(program),
        has_reset=program.memory.states.size_bytes > 0,
        input_bytes=sum(view.tensor(name).size_bytes for name in view.given),
        output_bytes=sum(view.tensor(name).size_bytes for name in view.handed_out),
    )
