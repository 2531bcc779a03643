# SPDX-License-Identifier: MIT
"""The README of a standalone folder: which files it has, how they are compiled, and what a program calls."""

from __future__ import annotations

import posixpath

from aidge_build.base.naming import comment_text
from aidge_build.build.emit.functions import functions_of
from aidge_build.build.emit.ports import Port, ports_of
from aidge_build.build.emit.template import render_file
from aidge_build.compat.export_layout import is_header
from aidge_build.compat.export_manifest import NAME, command
from aidge_build.plan.program import Program


def readme(program: Program, manifest: dict) -> str:
    """Returns the text; `manifest` is the manifest of the folder (`export_manifest`)."""
    ports, static = ports_of(program), manifest["static"]
    listed = {*manifest["sources"], *manifest["headers"], manifest["plan"], NAME, "README.md"} - set(static)
    return render_file(
        "export_readme.md",
        name=program.name,
        files=[(path, _meaning(path, program)) for path in sorted(listed)],
        static=static,
        command=command(manifest),
        parameters=functions_of(program, ports)[0].signature,
        inputs=[_described(port) for port in ports if port.is_input],
        outputs=[_described(port) for port in ports if not port.is_input],
        arena_bytes=program.memory.arena.peak_bytes,
        alignment=program.memory.alignment,
        libraries=manifest["libraries"],
        traced=program.options.trace,
    )


def _meaning(path: str, program: Program) -> str:
    stem, ending = posixpath.splitext(posixpath.basename(path))
    known = {
        f"{program.name}.h": "the model's interface: sizes, shapes, scales",
        f"{program.name}_weights{ending}": "the constants" + (", included by the assembler" if ending == ".bin" else ""),
        f"{program.name}.plan.json": "layers, memory plan and kernels as data",
        program.code_file: "the network: one function per layer",
        NAME: "this folder as data: interface, memory, files, what is reported",
        "README.md": "this page",
        f"forward{ending}": "declares `model_forward`" if is_header(path) else "defines `model_forward`",
        f"main{ending}": "a program that runs the model once",
    }
    return known.get(posixpath.basename(path), "a kernel or a configuration, as its library exports it")


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
