# SPDX-License-Identifier: MIT
"""The verb `compile`: from a model to C."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.cli.groups import BUILD
from aidge_build.cli.outcome import Outcome
from aidge_build.compile import compile
from aidge_build.errors import AidgeError
from aidge_build.importers.left_out import left_out
from aidge_build.inputs import add_model_arguments, load
from aidge_build.installed import own_files
from aidge_build.naming import counted
from aidge_build.options import FILES, add_options
from aidge_build.output import remove_file, write_sources
from aidge_build.request import CompileRequest

SUMMARY = "generate the C of a model"
GROUP = BUILD
EXAMPLES = (
    ("compile kws.onnx --board stm32f7 --out generated", "kws.h, kws.c, kws_weights.c, kws.plan.json"),
    ("compile kws.onnx --cpu cortex-m4 --fpu auto --optimize size --out generated", "for a core, without a board"),
    ("compile kws.onnx --board stm32f4 --ram-budget 20K --out generated", "layers computed row by row, to fit"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_options(parser, FILES)
    parser.add_argument("--depfile", metavar="FILE", help="write what was read, in Make syntax")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the nodes and constants that no layer computes")
    parser.add_argument("--stamp", metavar="FILE", help="touch this file when all is written; the depfile names it")


def run(arguments: argparse.Namespace) -> Outcome:
    name = arguments.name or Path(arguments.model).stem
    request = load(arguments, name)
    sources = compile(request)
    changes = write_sources(
        sources,
        Path(arguments.out),
        depfile=arguments.depfile and Path(arguments.depfile),
        stamp=arguments.stamp and Path(arguments.stamp),
        dependencies=[*request.dependencies, *own_files()] if arguments.depfile else (),
    )
    if arguments.stamp:
        _refuse_a_replaced_model(request, Path(arguments.stamp))
    manifest = sources.manifest
    summary = (
        f"{name}: {counted(len(manifest['layers']), 'layer')}, {sum(layer['macs'] for layer in manifest['layers']):,} MACs, "
        f"peak {manifest['peak_bytes']:,} B (lower bound {manifest['lower_bound_bytes']:,} B), arena "
        f"{manifest['arena_bytes']:,} B, "
        + (f"record {manifest['record']['size_bytes']:,} B, " if "record" in manifest else "")
        + f"weights {manifest['weights_bytes']:,} B, rounding {manifest['options']['rounding']}"
    )
    notices = [f"{request.file_name}: {notice}" for notice in manifest.get("notices", ())]
    origins = {name for layer in manifest["layers"] for name in layer["origin"]}
    more = left_out(request.model, request.file_name, request.external, origins) if arguments.verbose else ()
    notices += [f"{request.file_name}: {line}" for line in more]
    return Outcome([*notices, summary, *changes], manifest)


def _refuse_a_replaced_model(request: CompileRequest, stamp: Path) -> None:
    """make and ninja compare times: a stamp that is newer than a model that nobody read would hide it for ever."""
    model = Path(request.file_name)
    for path, content in {
        model: request.model if request.float_model is None else request.float_model,
        **{model.parent / location: data for location, data in request.external.items()},
    }.items():
        try:
            replaced = path.read_bytes() != content
        except OSError:
            replaced = True
        if replaced:
            remove_file(stamp)
            raise AidgeError("it was replaced while the generator ran", where=str(path), hint="build again", code="INPUT")
