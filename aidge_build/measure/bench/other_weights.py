# SPDX-License-Identifier: MIT
"""Measures how much the counts depend on the weights: a model is measured again with its weights in another order.

The weights decide whether a cheap form of a layer is proved, and which channels are constant. Weights of one output channel (of
one row of a matrix) change places with each other: their scale and histogram stay, but each input meets other weights.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy

from aidge_build.boards import Board
from aidge_build.build.request import CompileRequest
from aidge_build.measure.bench.figures import Figures
from aidge_build.measure.bench.measure import Case, measure
from aidge_build.sources.onnx_format.reader import read_model
from aidge_build.sources.onnx_format.writer import write_model

_WEIGHTS = (numpy.int8, numpy.uint8, numpy.float32)
_NUMPY = ""  # no references are stored for such weights: the numpy backend's values are


@dataclass(frozen=True)
class Spread:
    """Instructions of a model on a board: as it is, with all its channels, and of each other set of weights."""

    stored: Figures
    all_channels: Figures
    others: tuple[Figures, ...]

    @property
    def differing_values(self) -> int:
        """The differing values of all sets of weights together."""
        return sum(entry.differing_values for entry in (self.stored, self.all_channels, *self.others))

    @property
    def wrong_values(self) -> int:
        """The differing values that the contract does not allow."""
        return sum(entry.wrong_values for entry in (self.stored, self.all_channels, *self.others))

    def as_json(self) -> dict:
        """The counts."""
        return {
            "model": self.stored.model,
            "data": self.stored.data,
            "board": self.stored.board,
            "instructions": self.stored.instructions,
            "instructions_all_channels": self.all_channels.instructions,
            "instructions_other_weights": [entry.instructions for entry in self.others],
            "differing_values": self.differing_values,
        }


def measure_spread(case: Case, request: CompileRequest, board: Board, count: int) -> Spread:
    """The model as it is, without the removal of constant channels, and with `count` other sets of weights; one vector each."""
    whole = replace(request, options=replace(request.options, constant_channels="off"))
    requests = [request, whole, *(replace(request, model=with_other_weights(request.model, seed)) for seed in range(count))]
    stored, all_channels, *others = (measure(case, one, board, _NUMPY, 1) for one in requests)
    return Spread(stored, all_channels, tuple(others))


def with_other_weights(model: bytes, seed: int) -> bytes:
    """The ONNX file with the weights of each output channel in another order, the same one for the same seed."""
    found = read_model(model, "", {})
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    values = {name: _permuted(array, random) for name, array in sorted(found.initializers.items())}
    return write_model(replace(found, initializers=values))


def _permuted(values: numpy.ndarray, random: numpy.random.Generator) -> numpy.ndarray:
    if values.ndim < 2 or values.dtype.type not in _WEIGHTS:
        return values
    return random.permuted(values.reshape(len(values), -1), axis=1).reshape(values.shape)


def spread_table(spreads: Sequence[Spread]) -> str:
    """Returns the table for people, in Markdown."""
    first = f"minimum of {len(spreads[0].others)} other orders"
    head = ["model", "core", "as stored", "with all channels", first, "median", "maximum", "values that differ"]
    lines = [head, ["---", "---", *["--:"] * (len(head) - 2)]]
    for spread in spreads:
        counts = [entry.instructions for entry in spread.others]
        numbers = [spread.stored.instructions, spread.all_channels.instructions]
        numbers += [min(counts), round(statistics.median(counts)), max(counts), spread.differing_values]
        lines.append([spread.stored.model, spread.stored.core, *(f"{number:,}" for number in numbers)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
