# SPDX-License-Identifier: MIT
"""Recurrent layers with random numbers, for every library that has them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy
from random_tensors import Randomness

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.recurrent import GRU, LSTM, RNN

# steps, batch, inputs, hidden
EDGES = [(1, 1, 1, 8), (5, 1, 7, 9), (3, 2, 16, 16), (4, 1, 3, 33), (9, 1, 32, 24), (2, 3, 5, 10), (6, 1, 40, 64), (2, 1, 301, 8)]
FORMS = ((LSTM, {}), (LSTM, {"cell_limit": 0.3}), (GRU, {"reset_after": True}), (GRU, {"reset_after": False}), (RNN, {}))


def operators(random: Randomness, hidden: int):
    """One of each form, with the ONNX functions or others."""
    for kind, attributes in FORMS:
        direction = random.choice("forward", "reverse", "bidirectional")
        functions = kind.default_functions * (2 if direction == "bidirectional" else 1)
        if random.integer(0, 2) == 0:
            functions = tuple(random.choice("tanh", "sigmoid") if kind is not RNN else "relu" for _ in functions)
        limit = random.choice(math.inf, math.inf, 0.7)
        yield kind(hidden, direction, bool(random.integer(0, 1)), functions, limit, **attributes)


def as_given(random: Randomness, data: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    return [data, *weights]


def with_bytes(random: Randomness, data: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    """Weights as int8, by one scale, by one for each row or for each direction; every other time the data, too."""
    found = [_in_bytes(random, data)] if random.integer(0, 1) else [data]
    for tensor in weights:
        axis = random.choice(None, 0, 1)
        others = tuple(place for place in range(3) if place != axis)
        scales = numpy.maximum(numpy.abs(tensor.data).max(axis=others), 1e-3).reshape(-1) / numpy.float32(127)
        quantization = Quantization(tuple(map(float, scales.astype(numpy.float32))), (0,) * len(scales), axis)
        stored = numpy.clip(numpy.rint(tensor.data / quantization.along(quantization.scales, 3, numpy.float64)), -128, 127)
        extreme = random.numbers.random(stored.shape) < 0.05
        stored = numpy.where(extreme, numpy.where(stored < 0, -128, 127), stored).astype(numpy.int8)
        found.append(constant(tensor.name, stored, quantization))
    return found


def _in_bytes(random: Randomness, data: Tensor) -> Tensor:
    return data.with_(dtype=DType.int8, quantization=random.quantization(0.02))


def recurrent(case, seed, more=as_given):
    """Cases of all forms; `more` may change X, W and R."""
    random = Randomness(seed)
    steps, batch, inputs, hidden = EDGES[seed % len(EDGES)]
    for operator in operators(random, hidden):
        many, rows, first = operator.directions, operator.gates * hidden, operator.batch_first
        size = 2 / math.sqrt(inputs + hidden)
        weights = [constant(name, size * random.float32(many, rows, count)) for name, count in (("w", inputs), ("r", hidden))]
        bias = constant("b", random.float32(many, 2 * rows)) if random.integer(0, 3) else None
        data = random.real(*((batch, steps) if first else (steps, batch)), inputs)
        tensors = [*more(random, data, weights), bias]
        values = [random.float32(*data.dims) if tensors[0].dtype is DType.float32 else random.int8(*data.dims)]
        has_lengths, has_state = random.integer(0, 2) == 0, random.integer(0, 1) == 0
        if has_lengths or has_state:
            lengths = Tensor("lengths", (batch,), DType.int32) if has_lengths else None
            tensors.append(lengths)
            values += [random.numbers.integers(0, steps + 1, batch).astype(numpy.int32)] if has_lengths else []
        if has_state:
            dims = (batch, many, hidden) if first else (many, batch, hidden)
            tensors.append(Tensor("h", dims, DType.float32))
            values.append(random.numbers.uniform(-1, 1, dims).astype(numpy.float32))
        yield case(operator, tensors, values)
