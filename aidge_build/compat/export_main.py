# SPDX-License-Identifier: MIT
"""The main files of a standalone folder: one that prints, one that compares, one that sends every layer over a serial line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import comment_text
from aidge_build.base.output import write_files
from aidge_build.build.emit.ports import ports_of
from aidge_build.build.emit.template import render_file
from aidge_build.compat.scheduler import SequentialScheduler
from aidge_build.contract.reference import cpu
from aidge_build.graph.tensor import Tensor
from aidge_build.plan.constant_arrays import Array
from aidge_build.plan.program import Program

TOLERANCE = 1e-4  # of a float, relative to the largest value of its tensor
LINE_BYTES = 32  # of an output in one line of the serial protocol


def generate_main(export_folder_path: str, scheduler: SequentialScheduler, inputs: Mapping[str, numpy.ndarray]) -> str:
    """Write the main file of a demo, which runs the exported model on these inputs and prints its outputs; its path."""
    return _write_main(export_folder_path, scheduler, inputs, [])


def generate_main_compare(
    export_folder_path: str, scheduler: SequentialScheduler, inputs: Mapping[str, numpy.ndarray], serial: bool = False
) -> str:
    """The same, but compare with the numpy backend and exit with 1 where a value differs.

    Every layer is compared where the model was exported in test mode, else the outputs alone. With `serial` the program holds no
    reference: it sends the outputs over a serial line, and `compare_serial` on the host compares them.
    """
    compared = [] if serial else references_of(scheduler, inputs)
    return _write_main(export_folder_path, scheduler, inputs, compared, serial)


def references_of(scheduler: SequentialScheduler, inputs: Mapping[str, numpy.ndarray]) -> list[tuple[Tensor, numpy.ndarray]]:
    """Returns the tensors that the exported model reports, in its order, with the values of the numpy backend."""
    values = cpu.run(exported(scheduler).view, inputs)
    return [(tensor, values[tensor.name]) for tensor in reported(exported(scheduler))]


def reported(program: Program) -> list[Tensor]:
    """Returns the outputs of all layers in test mode, else the outputs of the model."""
    layers = [tensor for layer in program.layers for tensor in layer.outputs]
    return layers if program.options.trace else [program.view.tensor(name) for name in program.view.outputs]


def exported(scheduler: SequentialScheduler) -> Program:
    """The program of the last export; AidgeError where there is none."""
    if scheduler.program is None:
        raise AidgeError("the scheduler's graph was not exported yet", code="USAGE", hint="call scheduler_export first")
    return scheduler.program


def endings(program: Program) -> tuple[str, str]:
    """The endings of the folder's headers and code files."""
    return (".hpp", ".cpp") if program.language == "c++" else (".h", ".c")


def largest(values: numpy.ndarray) -> float:
    """Returns the absolute value that the tolerance is a fraction of; 0 for integers, which must be equal."""
    return float(numpy.abs(values).max(initial=1e-30)) if values.dtype.kind == "f" else 0.0


def _write_main(
    export_folder_path: str,
    scheduler: SequentialScheduler,
    inputs: Mapping[str, numpy.ndarray],
    references: list[tuple[Tensor, numpy.ndarray]],
    serial: bool = False,
) -> str:
    program = exported(scheduler)
    header, code = endings(program)
    ports = ports_of(program)
    sides: dict[bool, list[dict]] = {True: [], False: []}
    for port in ports:
        values = inputs[port.tensor.name] if port.is_input else None
        sides[port.is_input].append({**_described(port.tensor, values), "parameter": port.parameter})
    text = render_file(
        "main.c",
        header=f"forward{header}",
        inputs=sides[True],
        outputs=sides[False],
        traced=program.options.trace,
        serial=serial,
        line_bytes=LINE_BYTES,
        titles=[comment_text(tensor.name) for tensor in reported(program)],
        references=[
            {**_described(tensor, values), "title": comment_text(tensor.name), "largest": repr(largest(values))}
            for tensor, values in references
        ],
        arguments=", ".join(f"{port.parameter}_data" for port in ports),
        tolerance=repr(TOLERANCE),
    )
    path = Path(export_folder_path) / f"main{code}"
    write_files({path: text.encode()})
    return str(path)


def _described(tensor: Tensor, values: numpy.ndarray | None) -> dict:
    lines = (
        [] if values is None else Array("", tensor.to_stored(numpy.asarray(values, tensor.dtype.numpy)).reshape(-1), "").lines()
    )
    return {"c_type": tensor.dtype.c_type, "elements": max(1, tensor.elements), "lines": lines, "is_float": tensor.dtype.is_float}
