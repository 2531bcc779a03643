# SPDX-License-Identifier: MIT
"""Measures the layers of models on an emulated board. What was counted is kept by the content of the generated program, so that a
change of a kernel measures again only the networks whose C changes."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aidge_build.base import machine
from aidge_build.base.errors import AidgeError
from aidge_build.boards import Board, load_board
from aidge_build.build.compile import build_program
from aidge_build.build.emit import emit
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.build.request import CompileRequest
from aidge_build.measure.fit.count import counting_board
from aidge_build.measure.tune.turns import turns
from aidge_build.plan.prediction.predict import described_calls
from aidge_build.plan.program import Program
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.vectors import random_vectors
from tools.prediction.corpora import FOLDER, Part
from tools.prediction.fit import Row
from tools.prediction.networks import network


@dataclass(frozen=True)
class Measuring:
    """The board on whose core is measured, the folder that keeps what was counted, the build's --optimize and other words."""

    board: str
    kept: Path
    objective: str = "balanced"
    words: tuple[str, ...] = ()

    def request(self, model: Path) -> CompileRequest:
        """A build of the model for the board."""
        parser = argparse.ArgumentParser()
        add_model_arguments(parser)
        words = [str(model), "--board", self.board, f"--board-path={FOLDER}", "--optimize", self.objective, *self.words]
        return load(parser.parse_args(words), "model")

    def counts(self, program: Program) -> dict:
        """Instructions of one inference of random input: `layers` in the program's order, and `total`."""
        board = load_board(self.board, [FOLDER])
        path = self.kept / f"{content_key(program, board)}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            large = counting_board(board) or board
            with tempfile.TemporaryDirectory() as folder:
                vectors = random_vectors(program.view, 1, seed=0)
                result = execute(program, large, vectors, Path(folder)).result
            layers = [count.instructions for count in result.layers]
            path.write_text(json.dumps({"layers": layers, "total": result.run_instructions}))
        return json.loads(path.read_text())


def content_key(program: Program, board: Board) -> str:
    """Equal for programs with the same C, made by the same tools for the same core."""
    found = hashlib.sha256(f"{board.name} {' '.join(board.core.flags)}".encode())
    for tool in machine.toolchain_of(board.core.prefix, board.core.packages):
        found.update(f"{tool.name} {tool.version()}".encode())
    for name, data in sorted(emit(program).files.items()):
        found.update(f"{name} {len(data)}\n".encode() + data)
    return found.hexdigest()


def layers_of(model: Path, how: Measuring, *, has_alternatives: bool = False) -> list[Row]:
    """Each layer of the model with what a prediction knows of its calls, and what was counted; with `has_alternatives` for every
    kernel that accepts a layer, once, those of the last library only where it comes first."""
    request = how.request(model)
    programs = _alternatives(request) if has_alternatives else (build_program(request),)
    rows = [row for program in programs for row in _rows(program, request, how.counts(program), model.stem)]
    return list({repr(row): row for row in rows}.values())


def _alternatives(request: CompileRequest) -> Iterator[Program]:
    for target in turns(request, request.libraries[:-1]):
        yield build_program(replace(request, target=target))


def _rows(program: Program, request: CompileRequest, counts: dict, model: str) -> Iterator[Row]:
    for layer, instructions in zip(program.layers, counts["layers"], strict=True):
        if layer.bands is None and instructions:
            yield Row(next(described_calls(program, layer, request.target)), instructions, model)


@contextmanager
def seeded(part: Part, seed: int) -> Iterator[Path]:
    """A random network, as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{part.kind}{'int8' if part.is_quantized else 'float'}{seed}.onnx"
        path.write_bytes(network(seed, part.is_quantized, part.kind).SerializeToString())
        yield path


def layers_of_seed(part: Part, seed: int, how: Measuring) -> list[Row]:
    """The layers of a random network; none of one that cannot be built or run, which is said."""
    with seeded(part, seed) as path:
        try:
            return layers_of(path, replace(how, words=(*how.words, *part.words)), has_alternatives=part.has_alternatives)
        except AidgeError as error:
            print(error, file=sys.stderr)
            return []


def layers_of_parts(parts: Sequence[Part], how: Measuring) -> list[Row]:
    """Of all networks of the parts, measured side by side, in their order."""
    asked = [(part, seed, how) for part in parts for seed in part.seeds]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(layers_of_seed, *zip(*asked), chunksize=1))
    return [row for rows in found for row in rows]
