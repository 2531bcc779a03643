# SPDX-License-Identifier: MIT
"""Measures the layers of models on an emulated board: one line of JSON for each layer."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from aidge_build.adaptation.adapt import adapt_to_backend
from aidge_build.bench.costs import preferences
from aidge_build.boards import load_board
from aidge_build.compile import build_program, import_model
from aidge_build.contract.spec import NodeView
from aidge_build.errors import AidgeError
from aidge_build.inputs import add_model_arguments, load
from aidge_build.prediction.described import Described
from aidge_build.program import Program
from aidge_build.request import CompileRequest
from aidge_build.verify.firmware import execute
from aidge_build.verify.vectors import random_vectors
from tools.prediction.fit import Row
from tools.prediction.networks import network


def measured(model: Path, board: str) -> Iterator[dict]:
    """A row for each layer of the model: what a prediction knows, and the instructions of one inference of random input."""
    yield from _rows(build_program(_request(model, board)), model, board)


def measured_alternatives(model: Path, board: str) -> Iterator[dict]:
    """The same with every kernel that accepts a layer, each once; those of the last library only where it comes first."""
    request, seen = _request(model, board), set()
    view, _ = import_model(request)
    for table in (None, *preferences(view, replace(request, libraries=request.libraries[:-1]))):
        target = replace(request.target, cost_table=table)
        chosen = adapt_to_backend(view, request.libraries, target).choices
        kernels = {(name, one.kernel.library, one.kernel.name) for name, one in chosen.items() if one.kernel}
        if not kernels <= seen:
            seen |= kernels
            yield from _rows(build_program(replace(request, target=target)), model, board)


def _request(model: Path, board: str) -> CompileRequest:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    return load(parser.parse_args([str(model), "--board", board]), "model")


def _rows(program: Program, model: Path, board: str) -> Iterator[dict]:
    with tempfile.TemporaryDirectory() as folder:
        result = execute(program, load_board(board), random_vectors(program.view, 1, seed=0), Path(folder)).result
    for layer, count in zip(program.layers, result.layers, strict=True):
        if layer.bands is None and count.instructions:
            seen = NodeView(layer.node, layer.inputs, layer.outputs, program.view)
            row = Described.of(seen, layer.kernel, layer.call).as_json()
            yield {**row, "model": model.stem, "layer": layer.node.name, "instructions": count.instructions}
    yield {"model": model.stem, "total": result.run_instructions}


def write_rows(target: Path, board: str, models: Sequence[Path], has_alternatives: bool = False) -> None:
    """Appends the rows of the models; what a board cannot hold is said and left out."""
    with target.open("a") as file:
        for model in models:
            try:
                rows = list((measured_alternatives if has_alternatives else measured)(model, board))
                file.writelines(line + "\n" for line in dict.fromkeys(map(json.dumps, rows)))
                file.flush()
            except AidgeError as error:
                print(error, file=sys.stderr)


def measure_networks(
    target: Path, board: str, first: int, count: int, quantized: bool, kind: str = "", has_alternatives: bool = False
) -> None:
    """Appends the rows of the networks of these seeds."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            path = Path(folder) / f"{kind}{'int8' if quantized else 'float'}{seed}.onnx"
            path.write_bytes(network(seed, quantized, kind).SerializeToString())
            write_rows(target, board, [path], has_alternatives)


def read_rows(path: Path) -> Iterator[Row]:
    """The layers of a file that `write_rows` wrote."""
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if "total" not in row:
            model, instructions = row.pop("model"), row.pop("instructions")
            row.pop("layer")
            yield Row(Described.from_json(row), instructions, model)
