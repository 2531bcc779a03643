# SPDX-License-Identifier: MIT
"""The verb `ops`: the ONNX operators that can be imported, and the libraries that have kernels for them."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

from aidge_build.cli.outcome import Outcome
from aidge_build.inputs import find_libraries, load_libraries
from aidge_build.operators import builtin_operators

SUMMARY = "list the operators and where they run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel-path", action="append", default=[], metavar="DIR", help="a folder of libraries, or a library")


def run(arguments: argparse.Namespace) -> Outcome:
    folders = find_libraries([Path(folder) for folder in arguments.kernel_path])
    libraries, _ = load_libraries(sorted(folders), folders)
    operators = dict(builtin_operators())
    for library in libraries:
        operators |= {onnx_name: operator for operator in library.operators for onnx_name in operator.onnx_names}
    rows = []
    for onnx_name, operator in sorted(operators.items()):
        family = operator.__name__
        where = ["cpu", *(library.name for library in libraries if any(_belongs(kernel.type, family) for kernel in library.kernels))]
        rows.append({"onnx": onnx_name, "type": family, "backends": where, "summary": inspect.getdoc(operator).splitlines()[0]})
    lines = [f"{row['onnx']:<24} {row['type']:<22} {', '.join(row['backends']):<16} {row['summary']}" for row in rows]
    return Outcome("\n".join(lines), {"operators": rows})


def _belongs(kernel_type: str, family: str) -> bool:
    """Whether a kernel's operator type (Conv2D, ConvDepthWise1D) is one of the operator class (Conv)."""
    return kernel_type == family or (kernel_type.startswith(family) and kernel_type[len(family):].removeprefix("DepthWise") in ("1D", "2D", "3D"))
