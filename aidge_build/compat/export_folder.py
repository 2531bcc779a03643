# SPDX-License-Identifier: MIT
"""scheduler_export: a graph as a standalone folder of C, with a memory plan that somebody else may have made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import check_model_name
from aidge_build.base.output import write_files
from aidge_build.build.compile import demands_of, make_program
from aidge_build.build.emit import emit
from aidge_build.build.emit.functions import functions_of
from aidge_build.build.emit.manifest import manifest_text
from aidge_build.build.emit.ports import ports_of
from aidge_build.build.emit.template import render_file
from aidge_build.build.inputs import default_libraries, find_libraries
from aidge_build.build.request import CompileRequest
from aidge_build.compat.export_layout import keeping_files, kept_files, paths_of, require_layout
from aidge_build.compat.export_lib import ExportLib
from aidge_build.compat.export_main import endings, generate_main
from aidge_build.compat.export_manifest import NAME, manifest, text
from aidge_build.compat.export_readme import readme
from aidge_build.compat.libraries import libraries_of, tried_names
from aidge_build.compat.planes import placed_by
from aidge_build.compat.scheduler import Plans, SequentialScheduler
from aidge_build.compat.trial import after_trial
from aidge_build.contract.library import Library
from aidge_build.graph.view import GraphView
from aidge_build.plan.options import Options
from aidge_build.plan.program import Program
from aidge_build.prepare.adaptation.adapt import adapt_to_backend
from aidge_build.prepare.adaptation.match import Target

# A memory manager gives the peak, or a peak for each memory, and per node (or its name) a MemInfo or dict per output.
MemoryManager = Callable[..., tuple[int | list[int], Mapping]]


def scheduler_export(
    scheduler: SequentialScheduler,
    export_folder_path: str,
    export_lib: type[ExportLib] | Library | str | Sequence | None = None,
    memory_manager: MemoryManager | None = None,
    memory_manager_args: Mapping | None = None,
    test_mode: bool = False,
    *,
    layout: str = "flat",
    name: str = "model",
    target: Target = Target(),
    target_name: str = "any",
    options: Options = Options(),
) -> list[str]:
    """Write the folder and give the paths of its files: model.*, forward.*, main.*, README.md, export.json, static files.

    `export_lib` is one library or several in order of preference (a class, a value, or the name of one that comes with the
    tool; the libraries for every core when there is none). `memory_manager(scheduler, **memory_manager_args)` returns the peak
    in bytes and the memory info of each node's outputs, which the checker must accept. With `test_mode` main reports every
    layer's output.
    With `layout` "dnn" the folder has the form of the inherited exports: `dnn/src`, `dnn/include`, and there the kernels and
    configurations of the template style as files, as each class's `export` writes them.
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
    require_layout(layout)
    _require_options(options)
    if export_lib is None:
        export_lib = default_libraries(find_libraries([]), frozenset())
    libraries = libraries_of(export_lib)
    target = after_trial(scheduler.graph_view, libraries, tried_names(export_lib), target)
    libraries = keeping_files(libraries) if layout == "dnn" else libraries
    assignment = adapt_to_backend(scheduler.graph_view, libraries, target)
    demands = cache(partial(demands_of, assignment))
    plans = scheduler.plans = Plans(assignment, demands, options)
    assignment = scheduler.assignment = plans.assignment
    scheduler.graph_view, scheduler.schedule, scheduler.memory_names = assignment.view, plans.apart, ()
    peak_bytes, mem_info = memory_manager(scheduler, **(memory_manager_args or {}))
    schedule = scheduler.schedule
    placed = placed_by(mem_info, peak_bytes, schedule, plans.peak(schedule), assignment, demands, scheduler.memory_names)
    view = assignment.view
    options = replace(options, trace=test_mode)
    request = CompileRequest(name, _bytes_of(view), name, libraries, {}, target, target_name, options=options)
    program = scheduler.program = make_program(request, assignment, schedule, placed, ())
    written = _write_folder(Path(export_folder_path), program, layout, _static_files(libraries))
    main = generate_main(
        export_folder_path,
        scheduler,
        {name: numpy.zeros(view.tensor(name).dims, view.tensor(name).dtype.numpy) for name in view.inputs},
    )
    return sorted({*written, main})


def _require_options(options: Options) -> None:
    """Refuses options that a standalone folder cannot have."""
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
    if options.integrity != "off":
        raise AidgeError(
            "the main function of a standalone folder calls no check",
            where=f"integrity={options.integrity}",
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


def _write_folder(folder: Path, program: Program, layout: str, static: dict[str, bytes]) -> list[str]:
    """Write everything but the main file, and give the paths."""
    main = f"main{endings(program)[1]}"
    sources = emit(program)
    made = {**sources.files, **_forward_files(program)}
    paths = paths_of(made, layout, program.language)
    digests = {paths[name]: digest for name, digest in sources.manifest["files"].items()}
    made[f"{program.name}.plan.json"] = manifest_text({**sources.manifest, "files": digests})
    files = {paths[name]: data for name, data in made.items()} | (kept_files(program) if layout == "dnn" else {})
    said = manifest(program, layout, {**paths, **{path: path for path in files}}, sorted(static), main)
    files |= {NAME: text(said).encode(), "README.md": readme(program, said).encode()}
    for path in sorted(static.keys() & {*files, main}):
        raise AidgeError(f"the static file {path} would replace a generated one", where=str(folder), code="LIBRARY")
    files |= static
    write_files({folder / path: data for path, data in sorted(files.items())})
    return [str(folder / path) for path in files]


def _bytes_of(view: GraphView) -> bytes:
    """Returns the graph as text and the constants, for the hash of the program."""
    return str(view).encode() + b"".join(tensor.data.tobytes() for tensor in view.tensors.values() if tensor.is_constant)


def _forward_files(program: Program) -> dict[str, bytes]:
    header, code = endings(program)
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
