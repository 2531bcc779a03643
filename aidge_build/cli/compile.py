# SPDX-License-Identifier: MIT
"""The verb `compile`: from a model to C."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.errors import EXIT_CHECK_FAILED, AidgeError
from aidge_build.base.installed import own_files
from aidge_build.base.naming import counted
from aidge_build.base.options import FILES, add_options
from aidge_build.base.output import compare_sources, remove_file, write_sources
from aidge_build.base.source_files import Sources
from aidge_build.base.version import VERSION
from aidge_build.build.compile import compile
from aidge_build.build.inputs import USER_NAMES, add_model_arguments, load
from aidge_build.build.request import CompileRequest
from aidge_build.cli.outcome import Outcome
from aidge_build.sources.importing import left_out

EXAMPLES = (
    ("compile kws.onnx --board stm32f7 --out generated", "kws.h, kws.c, kws_weights.c, kws.plan.json"),
    ("compile kws.onnx --cpu cortex-m4 --fpu auto --optimize size --out generated", "for a core, without a board"),
    ("compile kws.onnx --board stm32f4 --ram-budget 20K --out generated", "layers computed row by row, to fit"),
    ("compile kws.onnx --board stm32f7 --out generated --check", "exit code 1 where committed files are not up to date"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_options(parser, FILES)
    parser.add_argument("--depfile", metavar="FILE", help="file for the list of what was read, in Make syntax (default: none)")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the nodes and constants that no layer computes, too")
    parser.add_argument("--stamp", metavar="FILE", help="file to touch when all is written; the depfile names it (default: none)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the files in --out with what would be generated: exit code 1 where one differs; otherwise they are written",
    )


def run(arguments: argparse.Namespace) -> Outcome:
    name = arguments.name or Path(arguments.model).stem
    if arguments.check and (arguments.depfile or arguments.stamp):
        raise AidgeError("writes nothing", where="--check", hint="leave out --depfile and --stamp", code="USAGE")
    request = load(arguments, name)
    sources = compile(request)
    if arguments.check:
        return _compared(sources, Path(arguments.out))
    changes = write_sources(
        sources,
        Path(arguments.out),
        depfile=arguments.depfile and Path(arguments.depfile),
        stamp=arguments.stamp and Path(arguments.stamp),
        dependencies=[*request.dependencies, *own_files()] if arguments.depfile else (),
    )
    if arguments.stamp:
        _refuse_a_replaced_model(request, Path(arguments.stamp))
    manifest, file = sources.manifest, Path(request.file_name).name
    origins = {origin for layer in manifest["layers"] for origin in layer["origin"]}
    more = left_out(request.file, origins) if arguments.verbose else ()
    notices = [f"{file}: {notice}" for notice in (*manifest.get("notices", ()), *more)]
    return Outcome([*notices, _summary(name, manifest), *changes], manifest)


def _summary(name: str, manifest: dict) -> str:
    rounding = manifest["options"]["rounding"]
    kept = "".join(f"{word} {manifest[word]['size_bytes']:,} B, " for word in ("record", "monitor") if word in manifest)
    return (
        f"{name}: {counted(len(manifest['layers']), 'layer')}, {sum(layer['macs'] for layer in manifest['layers']):,} MACs, "
        f"peak {manifest['peak_bytes']:,} B (lower bound {manifest['lower_bound_bytes']:,} B), arena "
        f"{manifest['arena_bytes']:,} B, {kept}"
        f"weights {manifest['weights_bytes']:,} B, rounding {USER_NAMES.get(rounding, rounding)}"
    )


def _compared(sources: Sources, folder: Path) -> Outcome:
    """Returns which files differ from the files that would be generated."""
    found = compare_sources(sources, folder)
    lines = [f"{folder / name}: {'differs' if is_there else 'is missing'}" for name, is_there in found.items()]
    files = counted(len(sources.files), "file")
    if found:
        remedy = "leave out --check to write them"
        lines.append(f"FAILED: {len(found)} of {files} in {folder} are not what aidge-build {VERSION} generates: {remedy}")
    else:
        lines.append(f"{folder}: {files}, as aidge-build {VERSION} generates them")
    data = {
        "out": str(folder),
        "files": sorted(sources.files),
        "differing": sorted(name for name, is_there in found.items() if is_there),
        "missing": sorted(name for name, is_there in found.items() if not is_there),
    }
    return Outcome(lines, data, EXIT_CHECK_FAILED if found else 0)


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
