# SPDX-License-Identifier: MIT
"""scheduler_export: a graph as a stand-alone folder of C, with a memory plan that somebody else may have made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy

from aidge_build.adaptation.adapt import adapt_to_backend
from aidge_build.adaptation.match import Target
from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.export_readme import readme
from aidge_build.compat.libraries import libraries_of
from aidge_build.compat.planes import placed_by
from aidge_build.compat.scheduler import SequentialScheduler
from aidge_build.compile import demands_of, make_program
from aidge_build.contract.library import Library
from aidge_build.emit import emit
from aidge_build.emit.arrays import Array
from aidge_build.emit.functions import functions_of
from aidge_build.emit.ports import ports_of
from aidge_build.emit.template import render_file
from aidge_build.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.inputs import default_libraries, find_libraries
from aidge_build.naming import check_model_name, comment_text
from aidge_build.output import write_files
from aidge_build.program import Options, Program
from aidge_build.reference import cpu
from aidge_build.request import CompileRequest
from aidge_build.schedule.schedule import make_schedule

TOLERANCE = 1e-4  # of a float, relative to the largest value of its tensor
MemoryManager = Callable[..., tuple[int, Mapping]]  # the peak, and per node (or its name) a MemInfo or dict per output


def scheduler_export(
    scheduler: SequentialScheduler,
    export_folder_path: str,
    export_lib: type[ExportLib] | Library | str | Sequence | None = None,
    memory_manager: MemoryManager | None = None,
    memory_manager_args: Mapping | None = None,
    test_mode: bool = False,
    *,
    name: str = "model",
    target: Target = Target(),
    target_name: str = "any",
    options: Options = Options(),
) -> list[str]:
    """Write the folder and give the paths of its files: model.*, forward.*, main.*, README.md, and the libraries' static files.

    `export_lib` is one library or several in order of preference (a class, a value, or the name of one that comes with the
    tool; the libraries for every core when there is none). `memory_manager(scheduler, **memory_manager_args)` returns the
    peak in bytes and the memory info of each node's outputs, which the checker must accept. With `test_mode` main reports every
    layer's output.
    `name` is the prefix of the generated files and symbols; `target` and `options` describe the core and the build, as for
    `compile` (a standalone folder owns its arena, and the caller owns inputs and outputs).
    """
    if memory_manager is None:
        raise AidgeError(
            "scheduler_export needs a memory_manager",
            code="USAGE",
            hint="compute_default_mem_info, generate_optimized_memory_info, or a function of your own",
        )
    check_model_name(name)
    if (options.io, options.arena) != ("caller", "static"):
        raise AidgeError(
            "a standalone folder owns its arena, and its caller the inputs and outputs",
            where=f"io={options.io}, arena={options.arena}",
            code="USAGE",
        )
    if options.dma_line:
        raise AidgeError(
            "the main function of a standalone folder handles no data cache", where="dma=on", hint="dma=hooks", code="USAGE"
        )
    if options.replaces_weights or options.max_step:
        raise AidgeError(
            "a standalone folder has weights of its own, and its model runs in one piece",
            where="update=weights" if options.replaces_weights else f"max_step={options.max_step}",
            code="USAGE",
            hint="aidge-build compile, without scheduler_export",
        )
    if options.ram_budget or options.memory_model == "cascade" or "rows" in (options.input, options.output):
        raise AidgeError(
            "the memory manager places tensors as a whole: no layer is computed row by row",
            where=f"memory_model={options.memory_model}, ram_budget={options.ram_budget}, input={options.input}, "
            f"output={options.output}",
            code="USAGE",
            hint="aidge-build compile --memory-model cascade, without scheduler_export",
        )
    if export_lib is None:
        export_lib = default_libraries(find_libraries([]), frozenset())
    libraries = libraries_of(export_lib)
    assignment = adapt_to_backend(scheduler.graph_view, libraries, target)
    demands = partial(demands_of, assignment)
    schedule = make_schedule(assignment, demands)
    scheduler.graph_view, scheduler.assignment, scheduler.schedule = assignment.view, assignment, schedule
    peak_bytes, mem_info = memory_manager(scheduler, **(memory_manager_args or {}))
    placed = placed_by(mem_info, int(peak_bytes), schedule, assignment, demands)
    if test_mode and any(place.plane is not None for place in placed.places.values()):
        raise AidgeError("test mode cannot report outputs in several pieces", where="test_mode", code="USAGE")
    view = assignment.view
    options = replace(options, trace=test_mode)
    request = CompileRequest(name, _bytes_of(view), name, libraries, {}, target, target_name, options=options)
    program = scheduler.program = make_program(request, assignment, schedule, placed, ())
    static = _static_files(libraries)
    files = {**emit(program).files, **_forward_files(program)}
    files["README.md"] = readme(program, sorted(files), static).encode()
    for path in sorted(static.keys() & {*files, f"main{_endings(program)[1]}"}):
        raise AidgeError(f"the static file {path} would replace a generated one", where=str(export_folder_path), code="LIBRARY")
    files |= static
    folder = Path(export_folder_path)
    write_files({folder / name: data for name, data in sorted(files.items())})
    main = generate_main(
        export_folder_path,
        scheduler,
        {name: numpy.zeros(view.tensor(name).dims, view.tensor(name).dtype.numpy) for name in view.inputs},
    )
    return sorted([*(str(folder / name) for name in files), main])


def generate_main(export_folder_path: str, scheduler: SequentialScheduler, inputs: Mapping[str, numpy.ndarray]) -> str:
    """Write the main file of a demo, which runs the exported model on these inputs and prints its outputs; its path."""
    return _write_main(export_folder_path, scheduler, inputs, [])


def generate_main_compare(export_folder_path: str, scheduler: SequentialScheduler, inputs: Mapping[str, numpy.ndarray]) -> str:
    """The same, but compare with the numpy backend and exit with 1 where a value differs.

    Every layer is compared where the model was exported in test mode, else the outputs alone.
    """
    program = _exported(scheduler)
    values = cpu.run(program.view, inputs)
    layers = [tensor for layer in program.layers for tensor in layer.outputs]
    compared = layers if program.options.trace else [program.view.tensor(name) for name in program.view.outputs]
    return _write_main(export_folder_path, scheduler, inputs, [(tensor, values[tensor.name]) for tensor in compared])


def _exported(scheduler: SequentialScheduler) -> Program:
    if scheduler.program is None:
        raise AidgeError("the scheduler's graph was not exported yet", code="USAGE", hint="call scheduler_export first")
    return scheduler.program


def _bytes_of(view: GraphView) -> bytes:
    """What the program is made of, for its hash: the graph as text and the constants."""
    return str(view).encode() + b"".join(tensor.data.tobytes() for tensor in view.tensors.values() if tensor.is_constant)


def _endings(program: Program) -> tuple[str, str]:
    return (".hpp", ".cpp") if program.language == "c++" else (".h", ".c")


def _forward_files(program: Program) -> dict[str, bytes]:
    header, code = _endings(program)
    ports = ports_of(program)
    values = {
        "name": program.name,
        "header": f"forward{header}",
        "parameters": functions_of(program, ports)[0].signature,
        "arguments": ", ".join(port.parameter for port in ports),
    }
    return {
        f"forward{header}": render_file("forward.h", **values).encode(),
        f"forward{code}": render_file("forward.c", **values).encode(),
    }


def _static_files(libraries: Sequence[Library]) -> dict[str, bytes]:
    """The static files of all libraries; two different files for one place are an error."""
    found: dict[str, bytes] = {}
    for library in libraries:
        for path, data in library.static_files.items():
            if found.setdefault(path, data) != data:
                raise AidgeError(f"two static files become {path}", where=library.name, code="LIBRARY")
    return found


def _write_main(
    export_folder_path: str,
    scheduler: SequentialScheduler,
    inputs: Mapping[str, numpy.ndarray],
    references: list[tuple[Tensor, numpy.ndarray]],
) -> str:
    program = _exported(scheduler)
    header, code = _endings(program)
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
        references=[
            {**_described(tensor, values), "title": comment_text(tensor.name), "largest": _largest(values)}
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


def _largest(values: numpy.ndarray) -> str:
    """What the tolerance counts from; 0 for integers, which must be equal."""
    return repr(float(numpy.abs(values).max(initial=1e-30))) if values.dtype.kind == "f" else "0.0"
