# SPDX-License-Identifier: MIT
"""export.json: a standalone folder as data, for tools that build, call or check it (schemas/export.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from aidge_build.base.version import VERSION
from aidge_build.build.emit.ports import Port, ports_of
from aidge_build.compat.export_layout import include_folders, is_header, is_source
from aidge_build.compat.export_main import LINE_BYTES, TOLERANCE, reported
from aidge_build.plan.program import Program

SCHEMA = 1
NAME = "export.json"


def manifest(program: Program, layout: str, generated: Mapping[str, str], static: list[str], main: str) -> dict:
    """Returns the manifest. `generated` has the paths of generated files by name, `static` the paths of the libraries' files."""
    paths = sorted({*generated.values(), *static, main})
    ports = ports_of(program)
    header = "forward.hpp" if program.language == "c++" else "forward.h"
    return {
        "schema": SCHEMA,
        "tool": VERSION,
        "model": program.name,
        "model_sha256": program.model_sha256,
        "target": program.target.name,
        "language": program.language,
        "layout": layout,
        "libraries": sorted({layer.kernel.library for layer in program.layers}),
        "function": "model_forward",
        "header": generated[header],
        "inputs": [_port(port) for port in ports if port.is_input],
        "outputs": [_port(port) for port in ports if not port.is_input],
        "arena_bytes": program.memory.arena.peak_bytes,
        "memories": [
            {
                "mem_component_id": part.component,
                "name": part.region,
                "symbol": f"{program.name}_arena{part.ending}",
                "size_bytes": part.size_bytes,
            }
            for part in program.memory.parts
        ],
        "constants_bytes": program.constants_bytes,
        "state_bytes": program.memory.states.size_bytes,
        "plan": generated[f"{program.name}.plan.json"],
        "main": main,
        "sources": [path for path in paths if is_source(path)],
        "headers": [path for path in paths if is_header(path)],
        "static": static,
        "include_folders": include_folders(layout, generated.values(), static),
        "reported": {
            "of": "layers" if program.options.trace else "outputs",
            "tensors": [
                {"name": tensor.name, "dtype": tensor.dtype.name, "dims": list(tensor.dims), "size_bytes": tensor.size_bytes}
                for tensor in reported(program)
            ],
            "tolerance": TOLERANCE,
            "line_bytes": LINE_BYTES,
        },
    }


def text(made: dict) -> str:
    """The file."""
    return json.dumps(made, indent=1) + "\n"


def command(made: dict) -> str:
    """The line that compiles all sources of the folder."""
    compiler = "g++" if made["language"] == "c++" else "gcc"
    folders = [f"-I{folder}" for folder in made["include_folders"]]
    return " ".join([compiler, "-O2", *folders, *made["sources"], "-lm", "-o", made["model"]])


def _port(port: Port) -> dict:
    tensor = port.tensor
    found: dict = {
        "name": tensor.name,
        "parameter": port.parameter,
        "dtype": tensor.dtype.name,
        "dims": list(tensor.dims),
        "elements": max(1, tensor.elements),
        "size_bytes": tensor.size_bytes,
    }
    if tensor.quantization is not None and tensor.quantization.per_tensor:
        found |= {"scale": tensor.quantization.scales[0], "zero_point": int(tensor.quantization.zero_points[0])}
    return found
