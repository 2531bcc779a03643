# SPDX-License-Identifier: MIT
"""The verb `kernels`: the export libraries and what their kernels accept."""

from __future__ import annotations

import argparse

from aidge_build.base.options import MODEL, add_options, options_named
from aidge_build.build.inputs import find_libraries, load_libraries
from aidge_build.cli.outcome import Outcome
from aidge_build.contract.library import Kernel
from aidge_build.contract.spec import IOSpec

EXAMPLES = (("list kernels", "libraries and their kernels"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, options_named(MODEL, "kernel-path"))


def run(arguments: argparse.Namespace) -> Outcome:
    folders = find_libraries(arguments.kernel_path)
    libraries, _ = load_libraries(sorted(folders), folders)
    lines, data = [], []
    for library in libraries:
        kernels = sorted(library.kernels, key=lambda kernel: (kernel.type, kernel.name))
        lines += [f"{library.name}: {library.description}", *(f"  {_line(kernel)}" for kernel in kernels)]
        data.append(
            {
                "name": library.name,
                "folder": folders[library.name].name,
                "language": library.language,
                "kernels": [{"op": kernel.type, "name": kernel.name, **_spec(kernel)} for kernel in kernels],
            }
        )
    return Outcome(lines, {"libraries": data})


def _spec(kernel: Kernel) -> dict:
    spec = kernel.spec
    return {
        "inputs": [_io(side) for side in spec.inputs],
        "outputs": [_io(side) for side in spec.outputs],
        "requires": [predicate.name for predicate in spec.predicates],
        "features": sorted(spec.features),
        "rounding": spec.rounding,
    }


def _io(side: IOSpec) -> str:
    return f"{side.dtype.name} {side.format}"


def _line(kernel: Kernel) -> str:
    spec = _spec(kernel)
    text = f"{kernel.type:<22} {kernel.name:<26} {', '.join(spec['inputs'])} -> {', '.join(spec['outputs'])}"
    conditions = [*spec["requires"], *(f"CPU with {feature}" for feature in spec["features"])]
    return f"{text}  if {', '.join(conditions)}" if conditions else text
