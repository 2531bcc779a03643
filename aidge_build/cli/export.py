# SPDX-License-Identifier: MIT
"""The verb `export`: a model as a folder of C that stands alone."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.cli.outcome import Outcome
from aidge_build.compat.export_folder import scheduler_export
from aidge_build.compat.export_main import generate_main_compare
from aidge_build.compat.mem_info import generate_optimized_memory_info
from aidge_build.compat.scheduler import SequentialScheduler
from aidge_build.compile import import_model
from aidge_build.errors import AidgeError
from aidge_build.inputs import NAME_TO_LOOK_AT, add_model_arguments, load
from aidge_build.options import FILES, add_options
from aidge_build.verify.vectors import model_inputs, read_npz

SUMMARY = "write a model as a folder of C with a main program"
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
            test_mode=arguments.test_mode,
            name=request.name,
            target=request.target,
            target_name=request.target_name,
            options=request.options,
        )
    except AidgeError as error:
        raise error.within(request.file_name)
    if arguments.io_data:
        vectors = model_inputs(read_npz(Path(arguments.io_data)), view)
        generate_main_compare(arguments.out, scheduler, {name: values[0] for name, values in vectors.items()})
    names = [Path(path).relative_to(arguments.out).as_posix() for path in files]
    text = [f"{Path(request.file_name).name}: {notice}" for notice in notices]
    text.append(
        f"{arguments.out}: {len(names)} files, arena {scheduler.program.arena.peak_bytes:,} B; README.md says how to compile it"
    )
    return Outcome(text, {"folder": arguments.out, "files": names, "arena_bytes": scheduler.program.arena.peak_bytes})
