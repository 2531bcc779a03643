# SPDX-License-Identifier: MIT
"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM: what they remember are variable tensors of the node."""

from __future__ import annotations

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.operators.base import require
from aidge_build.operators.rearrange import Slice
from aidge_build.operators.recurrent import LSTM
from aidge_build.operators.stored_lstm import StoredLstm
from aidge_build.operators.svdf import Svdf
from aidge_build.operators.view import Identity, Reshape, Transpose
from aidge_build.sources.formats.tflite.file import Field
from aidge_build.sources.formats.tflite.linear import activation
from aidge_build.sources.formats.tflite.node import TfliteNode
from aidge_build.sources.formats.tflite.order import Wants, file_order
from aidge_build.sources.formats.tflite.registry import reads
from aidge_build.sources.formats.tflite.values import Value

_CLAMP = Field(0, "int8")
_TANH = 4  # the number of this fused activation in the schema


def _is_stored(source: TfliteNode, data: Value, state: Value, weights: Value) -> bool:
    """Whether the node computes on stored values; float data with int8 weights becomes float32."""
    require(data.dtype in (DType.float32, DType.int8), f"its data is {data}, wants float32 or int8")
    stored = data.dtype is DType.int8
    require(weights.dtype in ((DType.int8,) if stored else (DType.float32, DType.int8)), f"its weights are {weights}")
    require(not stored or source.on_stored, f"{source.operator.type} of int8 exists under --rounding tflite alone")
    wanted = DType.int16 if stored else DType.float32
    require(state.dtype is wanted and not state.is_constant, f"its state is {state}, wants a variable of {wanted.name}")
    return stored


@reads("SVDF", wants=Wants.FILE, kind=6, rank=Field(0, "int32"), fused_activation_function=Field(1, "int8"))
def svdf(source: TfliteNode) -> None:
    """Inputs: data, features, times, bias, state; integers have no activation but the ends of their type."""
    data, state = source.input(0), source.input(4)
    stored = _is_stored(source, data, state, source.input(1))
    require(source.input(1).is_constant and source.input(2).is_constant, "its weights are computed at run time")
    bias = source.optional_input(3)
    read = source.read if stored else source.read_real
    inputs = [read(0), read(1), read(2), "" if bias is None else source.read(3), source.read(4)]
    rank = source.options["rank"]
    operator = Svdf(rank=rank) if stored else Svdf(rank=rank, **activation(source))
    after, result = source.steps(operator, inputs, [state, source.output()] if stored else [None, None])
    source.remember(4, after, file_order(state.rank))
    source.write(Identity(), [result])


_HIDDEN, _CELL, _ABSENT = 18, 19, {"peepholes": (9, 10, 11), "a projection": (16, 17), "layer normalization": (20, 21, 22, 23)}


@reads(
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    wants=Wants.FILE,
    kind=71,
    fused_activation_function=_CLAMP,
    cell_clip=Field(1, "float32"),
    proj_clip=Field(2, "float32"),
    time_major=Field(3, "bool"),
)
def lstm(source: TfliteNode) -> None:
    """Inputs: data, weights (1 to 4) and recurrences (5 to 8) of the gates i, f, c, o, biases (12 to 15), both states."""
    options = source.options
    require(options["fused_activation_function"] == _TANH, "its activation must be TANH")
    for what, places in _ABSENT.items():
        require(all(source.optional_input(place) is None for place in places), f"{what} is not supported")
    require(all(source.optional_input(place) is not None for place in (1, 5)), "joined input and forget gates are not supported")
    data, hidden, cell = source.input(0), source.input(_HIDDEN), source.input(_CELL)
    require(data.rank == 3 and hidden.rank == cell.rank == 2, f"its data has rank {data.rank}, its states {hidden.rank}")
    stored = _is_stored(source, data, cell, source.input(1))
    require(numpy.isfinite(options["cell_clip"]) and options["cell_clip"] >= 0, f"its cell_clip is {options['cell_clip']}")
    (_stored_lstm if stored else _real_lstm)(source, data, hidden, cell)


def _stored_lstm(source: TfliteNode, data: Value, hidden: Value, cell: Value) -> None:
    made = source.output()
    require(hidden.quantization == made.quantization, "its hidden state and its output have different scales")
    weights, recurrence = (_joined(source, first) for first in (1, 5))
    bias = source.add_constant(f"{source.name}_bias", numpy.concatenate([_bias(source, place) for place in range(12, 16)]))
    inside = source.intermediate(4)
    operator = StoredLstm(
        time_first=source.options["time_major"],
        clip=source.options["cell_clip"],
        scale=float(inside.scale),
        zero_point=inside.zero_point,
    )
    inputs = [source.read(0), weights, recurrence, bias, source.read(_HIDDEN), source.read(_CELL)]
    after, result = source.steps(operator, inputs, [cell, made])
    source.remember(_CELL, after, file_order(2))
    source.remember(_HIDDEN, _last(source, result, data, hidden, made), file_order(2))
    source.write(Identity(), [result])


def _last(source: TfliteNode, result: str, data: Value, hidden: Value, made: Value) -> str:
    """Returns the hidden value after the last step: the last row of the output."""
    time = 0 if source.options["time_major"] else 1
    steps, counts = data.dims[time], list(made.dims)
    counts[time] = 1
    starts = tuple(steps - 1 if axis == time else 0 for axis in range(3))
    return source.step(Reshape(hidden.dims), [source.step(Slice(starts, tuple(counts), (1, 1, 1)), [result], made)], made)


def _joined(source: TfliteNode, first: int) -> str:
    """The weights of four gates as one matrix, with a scale for each row."""
    values = [source.input(first + gate) for gate in range(4)]
    parts = [source.constant(first + gate) for gate in range(4)]
    for value, part in zip(values, parts):
        fits = value.quantization is not None and value.quantization.per_tensor and not value.quantization.zero_point
        require(fits and value.dtype is DType.int8 and part.ndim == 2, f"its weights '{value.name}' are {value}, wants int8")
        require(part.shape == parts[0].shape, f"its weights '{value.name}' have other dims than the first gate's")
    scales = tuple(float(value.quantization.scale) for value, part in zip(values, parts) for _ in part)
    quantization = Quantization(scales, (0,) * len(scales), 0)
    return source.add_constant(f"{source.name}_weights_{first}", numpy.concatenate(parts), quantization)


def _bias(source: TfliteNode, place: int) -> numpy.ndarray:
    value, data = source.input(place), source.constant(place)
    require(value.dtype is DType.int32 and data.ndim == 1, f"its bias is {value}, wants int32")
    return data


_ONNX_GATES = (0, 3, 1, 2)  # i, o, f, c


def _real_lstm(source: TfliteNode, data: Value, hidden: Value, cell: Value) -> None:
    """Writes ONNX's LSTM: the sequence is its first axis, and its gates are in the order i, o, f, c."""
    units, batch = cell.dims[1], hidden.dims[0]
    require(hidden.dims == cell.dims, f"its states have the dims {list(hidden.dims)} and {list(cell.dims)}")
    weights, recurrence = (_real_gates(source, first) for first in (1, 5))
    bias = _real_gates(source, 12)
    inputs = [
        source.read_real(0) if source.options["time_major"] else source.step(Transpose((1, 0, 2)), [source.read_real(0)]),
        source.add_constant(f"{source.name}_weights", weights[None]),
        source.add_constant(f"{source.name}_recurrence", recurrence[None]),
        source.add_constant(f"{source.name}_bias", numpy.concatenate([bias, numpy.zeros_like(bias)])[None]),
        "",
        source.step(Reshape((1, batch, units)), [source.read(_HIDDEN)]),
        source.step(Reshape((1, batch, units)), [source.read(_CELL)]),
    ]
    operator = LSTM(hidden=units, functions=LSTM.default_functions, cell_limit=source.options["cell_clip"] or numpy.inf)
    result, *states = source.steps(operator, inputs, [None, None, None])
    for place, name in zip((_HIDDEN, _CELL), states):
        source.remember(place, source.step(Reshape((batch, units)), [name]), file_order(2))
    steps = data.dims[0 if source.options["time_major"] else 1]
    rows = source.step(Reshape((steps, batch, units)), [result])
    source.write(Identity() if source.options["time_major"] else Transpose((1, 0, 2)), [rows])


def _real_gates(source: TfliteNode, first: int) -> numpy.ndarray:
    """Weights or biases of these gates in float32."""
    parts: list[numpy.ndarray] = []
    for gate in _ONNX_GATES:
        value, data = source.input(first + gate), source.constant(first + gate)
        if value.quantization is not None:
            require(value.quantization.per_tensor and not value.quantization.zero_point, f"'{value.name}' has several scales")
            data = data.astype(numpy.float32) * value.quantization.scale
        require(data.dtype == numpy.float32, f"'{value.name}' is {value}, wants float32")
        require(not parts or data.shape == parts[0].shape, f"'{value.name}' has other dims than the first gate's")
        parts.append(data)
    return numpy.concatenate(parts)
