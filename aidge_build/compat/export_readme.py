# SPDX-License-Identifier: MIT
"""The README of a stand-alone folder: which files it has, how they are compiled, and what a program calls."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from aidge_build.emit.functions import functions_of
from aidge_build.emit.ports import Port, ports_of
from aidge_build.emit.template import render_file
from aidge_build.naming import comment_text
from aidge_build.program import Program

_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".s", ".S")
_HEADERS = (".h", ".hh", ".hpp", ".hxx")


def readme(program: Program, generated: Iterable[str], static: Iterable[str]) -> str:
    """The text; `generated` and `static` are the folder's files by their paths."""
    static = sorted(static)
    main = "main.cpp" if program.language == "c++" else "main.c"
    files = [(path, _meaning(path, program)) for path in sorted([*generated, main])]
    ports = ports_of(program)
    return render_file(
        "export_readme.md",
        name=program.name,
        files=files,
        static=static,
        command=_command(program, [path for path, _ in files], static),
        parameters=functions_of(program, ports)[0].signature,
        inputs=[_described(port) for port in ports if port.is_input],
        outputs=[_described(port) for port in ports if not port.is_input],
        arena_bytes=program.arena.peak_bytes,
        alignment=program.arena_alignment,
        libraries=sorted({layer.kernel.library for layer in program.layers}),
        traced=program.options.trace,
    )


def _command(program: Program, generated: list[str], static: list[str]) -> str:
    """One line that compiles all sources of the folder."""
    compiler = "g++" if program.language == "c++" else "gcc"
    sources = [path for path in (*generated, *static) if path.endswith(_SOURCES)]
    folders = sorted({posixpath.dirname(path) for path in static if path.endswith(_HEADERS)} - {""})
    includes = [f"-I{folder}" for folder in folders] if len(sources) > sum(path in generated for path in sources) else []
    return " ".join([compiler, "-O2", *includes, *sources, "-lm", "-o", program.name])


def _meaning(path: str, program: Program) -> str:
    stem, ending = posixpath.splitext(path)
    known = {
        f"{program.name}.h": "the model's interface: sizes, shapes, scales",
        f"{program.name}_weights.c": "the constants",
        f"{program.name}_weights.bin": "the constants, included by the assembler",
        f"{program.name}.plan.json": "layers, memory plan and kernels as data",
        program.code_file: "the network: one function per layer",
    }
    if stem == "forward":
        return "declares `model_forward`" if ending in _HEADERS else "defines `model_forward`"
    return known.get(path, "a program that runs the model once")


def _described(port: Port) -> dict:
    tensor = port.tensor
    scale = ""
    if tensor.quantization is not None and tensor.quantization.per_tensor:
        scale = f", scale {tensor.quantization.scales[0]!r}, zero point {int(tensor.quantization.zero_points[0])}"
    return {
        "parameter": port.parameter,
        "title": comment_text(tensor.name),
        "text": f"{tensor.dtype.name} {list(tensor.dims)}, {max(1, tensor.elements)} elements, {tensor.size_bytes} bytes{scale}",
    }
