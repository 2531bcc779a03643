# SPDX-License-Identifier: MIT
"""The verb `frontend`: a model's file with a front end before it and a decision after it."""

from __future__ import annotations

import argparse
from pathlib import Path

from aidge_build.base.output import write_files
from aidge_build.base.reading import LARGEST_TEXT_BYTES, read_regular, toml_of
from aidge_build.build.inputs import read_model_file
from aidge_build.cli.outcome import Outcome
from aidge_build.prepare.frontend.described import described
from aidge_build.sources.onnx_format import read_model

EXAMPLES = (("frontend net.onnx --recipe recipe.toml --out whole.onnx", "samples in, a label out"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="the model's ONNX file, quantized where the front end is to compute integers"
    )
    parser.add_argument(
        "--recipe", required=True, metavar="F.toml", help="recipe with the tables audio or image, and decision (docs/frontend.md)"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="ONNX file to write")


def run(arguments: argparse.Namespace) -> Outcome:
    path, recipe, out = Path(arguments.model), Path(arguments.recipe), Path(arguments.out)
    model, external = read_model_file(path)
    said = toml_of(read_regular(recipe, LARGEST_TEXT_BYTES, "FRONTEND"), str(recipe), "FRONTEND")
    file = described(model, said, str(path), str(recipe), external)
    read = read_model(file, str(out), external)
    write_files({out: file})
    kept = {*read.states, *read.states.values()}
    sides = {
        side: {value.name: f"{value.dtype.name} {list(value.dims or ())}" for value in values if value.name not in kept}
        for side, values in (("inputs", read.inputs), ("outputs", read.outputs))
    }
    shown = ("; ".join(f"{name} {what}" for name, what in values.items()) for values in sides.values())
    return Outcome(
        [f"{out}: {' -> '.join(shown)}; {len(read.states)} states"], {"file": str(out), **sides, "states": dict(read.states)}
    )
