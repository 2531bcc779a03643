# SPDX-License-Identifier: MIT
"""The verb `export`: a model as a standalone folder of C."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.options import FILES, add_options
from aidge_build.build.compile import import_model
from aidge_build.build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.cli.outcome import Outcome
from aidge_build.compat.export_folder import scheduler_export
from aidge_build.compat.export_layout import LAYOUTS
from aidge_build.compat.export_main import generate_main_compare
from aidge_build.compat.mem_info import generate_optimized_memory_info
from aidge_build.compat.scheduler import SequentialScheduler
from aidge_build.compat.serial_line import Compared, compare_serial, serial_lines
from aidge_build.graph.view import GraphView
from aidge_build.run.verify.vectors import input_conversions, model_inputs, read_npz

COMMON = ("name", "out", "io-data", "test-mode", "layout", "serial", "received", "board", "cpu", "optimize", "quantize")
EXAMPLES = (("package --standalone kws.onnx --out folder --lib ref", "portable C with a main program and a README"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_options(parser, FILES)
    parser.add_argument(
        "--io-data",
        metavar="F.npz",
        help="input vectors, x or x_<input>: main runs the first one and compares with the numpy backend (default: zeros)",
    )
    parser.add_argument(
        "--test-mode", action="store_true", help="let main see the output of each layer (default: outputs of the model)"
    )
    parser.add_argument(
        "--layout",
        choices=LAYOUTS,
        default=LAYOUTS[0],
        help="dnn: dnn/src, dnn/include, kernels of templates as files (default: flat)",
    )
    parser.add_argument(
        "--wrapping", action="store_true", help="let outputs wrap around their inputs where kernels can (default: no rings)"
    )
    parser.add_argument(
        "--serial", action="store_true", help="main sends what it computes over a serial line (default: main compares)"
    )
    parser.add_argument(
        "--received", metavar="F", help="compare what main of --serial sent, from a device or a file (default: no comparison)"
    )


def run(arguments: argparse.Namespace) -> Outcome:
    request = load(arguments, arguments.name or NAME_TO_LOOK_AT)
    try:
        view, notices = import_model(request)
        scheduler = SequentialScheduler(view)
        files = scheduler_export(
            scheduler,
            arguments.out,
            request.libraries,
            generate_optimized_memory_info,
            {"wrapping": arguments.wrapping},
            test_mode=arguments.test_mode,
            layout=arguments.layout,
            name=request.name,
            target=request.target,
            target_name=request.target_name,
            options=request.options,
        )
    except AidgeError as error:
        raise error.within(request.file_name)
    converted, compared = _main(arguments, scheduler, view)
    names = [Path(path).relative_to(arguments.out).as_posix() for path in files]
    text = [f"{Path(request.file_name).name}: {notice}" for notice in notices]
    text.append(
        f"{arguments.out}: {len(names)} files, arena {scheduler.program.memory.arena.peak_bytes:,} B; "
        "README.md says how to compile it"
    )
    text += [*converted, *map(str, compared)]
    document = {"folder": arguments.out, "files": names, "arena_bytes": scheduler.program.memory.arena.peak_bytes}
    if compared:
        document |= {"compared": [asdict(each) for each in compared]}
    return Outcome(text, document, int(any(each.differing for each in compared)))


def _main(
    arguments: argparse.Namespace, scheduler: SequentialScheduler, view: GraphView
) -> tuple[list[str], tuple[Compared, ...]]:
    """The main file that --io-data and --serial ask for, with lines about inputs of another scale, and the comparison that
    --received asks for."""
    if not arguments.io_data:
        if arguments.serial or arguments.received:
            raise AidgeError("--serial and --received need inputs", code="USAGE", hint="--io-data F.npz")
        return [], ()
    arrays = read_npz(Path(arguments.io_data))
    inputs = {name: values[0] for name, values in model_inputs(arrays, view).items()}
    generate_main_compare(arguments.out, scheduler, inputs, serial=arguments.serial)
    compared = compare_serial(serial_lines(arguments.received), scheduler, inputs) if arguments.received else ()
    return input_conversions(arrays, view), compared
