# SPDX-License-Identifier: MIT
"""More models of one operator, as .tflite files: dims, options, scales and types are seeded random ones."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tests.tflite_cases import one
from tests.tflite_files import Graph, write

SEEDS = int(os.environ.get("AIDGE_TFLITE_SEEDS", "2"))  # cases of each operator and type; more: against LiteRT itself
BOOL = {"dtype": "bool"}
INT32 = {"dtype": "int32"}
GRAPHS: dict[str, Callable[[], Graph]] = {}


class Draw:
    """Seeded random numbers of one case."""

    def __init__(self, name: str):
        self.random = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(name.encode())))

    def integer(self, low: int, high: int) -> int:
        """One of low..high."""
        return int(self.random.integers(low, high, endpoint=True))

    def choice(self, *among):
        """One of them."""
        return among[self.integer(0, len(among) - 1)]

    def dims(self, rank: int, most: int = 5) -> tuple[int, ...]:
        """Lengths of axes, of which the last may be longer."""
        return (*(self.integer(1, most) for _ in range(rank - 1)), self.integer(1, 2 * most))

    def scale(self, low: float, high: float) -> numpy.float32:
        """Between both, spread evenly over factors."""
        return numpy.float32(low * (high / low) ** self.random.random())

    def type(self, variety: str, reach: float = 1.0) -> dict[str, Any]:
        """How a tensor of this variety is stored, with numbers up to about 2 to 20 times `reach`."""
        if variety == "float":
            return {"dtype": "float32"}
        if variety in ("int32", "int64", "bool"):
            return {"dtype": variety}
        if variety == "int16":
            return {"dtype": "int16", "scale": self.scale(6e-5, 6e-4) * numpy.float32(reach), "zero_point": 0}
        low = 0 if variety == "uint8" else -128
        scale = self.scale(0.015, 0.15) * numpy.float32(reach)
        return {"dtype": variety, "scale": scale, "zero_point": low + self.choice(0, 128, self.integer(0, 255))}

    def values(self, dims: Sequence[int], dtype: str, low: int = -127, high: int = 127) -> numpy.ndarray:
        """Integers, or a hundredth of them as floats."""
        found = self.random.integers(low, high, dims, endpoint=True)
        return (found * 0.01).astype(numpy.float32) if dtype == "float32" else found.astype(dtype)

    def constant(self, dims: Sequence[int], how: dict[str, Any]) -> tuple[numpy.ndarray, dict[str, Any]]:
        """Elements of such a tensor, with how they are stored."""
        more = {key: value for key, value in how.items() if key != "dtype"}
        info = numpy.iinfo(how["dtype"]) if how["dtype"] in ("int8", "uint8", "int16") else None
        return self.values(dims, how["dtype"], *((info.min, info.max) if info else ())), more


def family(*kinds: str, varieties: Sequence[str]) -> Callable[[Callable[[Draw, str, str], Graph]], Callable]:
    """Register cases of these operators, `SEEDS` of each type; the function makes a graph of (draw, operator, type)."""

    def mark(made: Callable[[Draw, str, str], Graph]) -> Callable:
        for kind in kinds:
            for variety in varieties:
                for seed in range(SEEDS):
                    name = f"{kind} {variety} random {seed}"
                    GRAPHS[name] = lambda made=made, name=name, kind=kind, variety=variety: made(Draw(name), kind, variety)
        return made

    return mark


def file_of(name: str) -> bytes:
    """The bytes of a case."""
    return write(GRAPHS[name]())


BYTES, INTEGERS, ALL = ("int8", "uint8"), ("int8", "uint8", "int16"), ("float", "int8", "uint8", "int16")
_FUSED = (0, 1, 2, 3)


# Functions of one element.


@family("CEIL", "COS", "FLOOR", "LOG", "ROUND", "SIN", "SQRT", "SQUARE", "SIGN", varieties=("float",))
@family("ABS", "NEG", varieties=("float", "int8", "int16"))
@family("EXP", "RSQRT", varieties=("float", "int8"))
@family("RELU", "RELU6", varieties=ALL)
@family("RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH", varieties=("float", "int8", "uint8"))
@family("ELU", varieties=("float", "int8"))
@family("LEAKY_RELU", varieties=ALL)
@family("GELU", varieties=("float", "int8", "uint8"))
def _pointwise(draw: Draw, kind: str, variety: str) -> Graph:
    dims, given, made = draw.dims(draw.integer(1, 4)), draw.type(variety), draw.type(variety)
    if kind == "NEG" or kind == "ABS" and draw.integer(0, 1):
        made = given
    if kind == "RSQRT" and variety == "int8":
        given, made = {**given, "zero_point": -128}, draw.type(variety, 0.3)
    options: dict[str, tuple] = {
        "LEAKY_RELU": (75, (0, "float32", float(numpy.float32(draw.random.random() * 0.4)))),
        "GELU": (116, (0, "bool", bool(draw.integer(0, 1)))),
    }
    return one(kind, [(dims, given)], [(dims, made)], options=options.get(kind, (0,)))


@family("LOGISTIC", "TANH", varieties=ALL)
def _saturating(draw: Draw, kind: str, variety: str) -> Graph:
    dims, given = draw.dims(draw.integer(1, 4)), draw.type(variety)
    made = draw.type(variety)
    if variety in BYTES:
        low = 0 if variety == "uint8" else -128
        unit = (1 / 256, low) if kind == "LOGISTIC" else (1 / 128, low + 128)
        made = {"dtype": variety, "scale": unit[0], "zero_point": unit[1]}
    if variety == "int16":
        made = {"dtype": "int16", "scale": 1 / 32768, "zero_point": 0}
        given = {**given, "scale": draw.choice(1 / 4096, 1 / 2048, given["scale"], given["scale"])}
    return one(kind, [(dims, given)], [(dims, made)])


# Two tensors.


def _broadcast(draw: Draw, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Dims of two tensors and of what they broadcast to."""
    dims, kind = draw.dims(rank, 5), draw.integer(0, 3)
    if kind == 0:
        return dims, dims, dims
    if kind == 1:
        return dims, dims[-1:], dims
    if kind == 2:
        return dims, (1,) * rank, dims
    mask = [draw.integer(0, 2) for _ in dims]
    return (
        tuple(1 if one == 1 else size for one, size in zip(mask, dims)),
        tuple(1 if one == 2 else size for one, size in zip(mask, dims)),
        dims,
    )


@family("ADD", "SUB", "MUL", varieties=(*ALL, "int32"))
@family("DIV", varieties=("float", "uint8"))
def _arithmetic(draw: Draw, kind: str, variety: str) -> Graph:
    first, second, dims = _broadcast(draw, draw.integer(1, 4))
    clamp = draw.choice(*_FUSED) if variety != "int32" else 0
    number = {"ADD": 11, "SUB": 28, "MUL": 21, "DIV": 29}[kind]
    given = [(first, draw.type(variety)), (second, draw.type(variety))]
    constant = []
    if draw.integer(0, 2) == 0:
        constant = [draw.constant(*given.pop())]
    made = draw.type(variety, 1.5)
    return one(kind, given, [(dims, made)], constant, (number, (0, "int8", clamp)))


@family("MAXIMUM", "MINIMUM", varieties=(*ALL, "int32"))
def _extreme(draw: Draw, kind: str, variety: str) -> Graph:
    first, second, dims = _broadcast(draw, draw.integer(1, 4))
    how = draw.type(variety)
    return one(kind, [(first, how), (second, how)], [(dims, how)])


@family("SQUARED_DIFFERENCE", varieties=("float", "int8"))
@family("PRELU", varieties=("float", "int8", "uint8"))
@family("FLOOR_DIV", "POW", varieties=("float",))
def _pair(draw: Draw, kind: str, variety: str) -> Graph:
    rank = 4 if kind == "PRELU" else draw.integer(1, 4)
    if kind == "PRELU":
        dims = draw.dims(4, 5)
        return one(
            kind,
            [(dims, draw.type(variety))],
            [(dims, draw.type(variety))],
            [draw.constant((1, 1, dims[3]), draw.type(variety, 0.1))],
        )
    first, second, dims = _broadcast(draw, rank)
    return one(kind, [(first, draw.type(variety)), (second, draw.type(variety))], [(dims, draw.type(variety, 4.0))])


@family("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", varieties=("float", "int8", "uint8", "int32"))
def _comparison(draw: Draw, kind: str, variety: str) -> Graph:
    first, second, dims = _broadcast(draw, draw.integer(1, 4))
    how = draw.type(variety)
    other = how if draw.integer(0, 1) else draw.type(variety)
    return one(kind, [(first, how), (second, other)], [(dims, BOOL)])


@family("LOGICAL_AND", "LOGICAL_OR", varieties=("bool",))
def _logic(draw: Draw, kind: str, variety: str) -> Graph:
    first, second, dims = _broadcast(draw, draw.integer(1, 4))
    return one(kind, [(first, BOOL), (second, BOOL)], [(dims, BOOL)])


@family("LOGICAL_NOT", varieties=("bool",))
def _not(draw: Draw, kind: str, variety: str) -> Graph:
    dims = draw.dims(draw.integer(1, 4))
    return one(kind, [(dims, BOOL)], [(dims, BOOL)])


@family("SELECT_V2", varieties=("float", "int8", "int16", "int32"))
def _select(draw: Draw, kind: str, variety: str) -> Graph:
    first, second, dims = _broadcast(draw, draw.integer(1, 4))
    how = draw.type(variety)
    return one(kind, [(dims, BOOL), (first, how), (second, how)], [(dims, how)])


# Along axes.


@family("MEAN", "REDUCE_MAX", "REDUCE_MIN", varieties=ALL)
@family("SUM", varieties=("float", "int8", "int32"))
@family("REDUCE_PROD", varieties=("float",))
@family("REDUCE_ANY", "REDUCE_ALL", varieties=("bool",))
def _reduction(draw: Draw, kind: str, variety: str) -> Graph:
    rank = draw.integer(2, 4)
    dims, keep = draw.dims(rank), bool(draw.integer(0, 1))
    axes = sorted({draw.integer(0, rank - 1) for _ in range(draw.integer(1, rank - 1))})
    if rank == 4 and draw.integer(0, 1):
        axes, dims = [1, 2], (dims[0], draw.integer(1, 11), draw.integer(1, 11), dims[3])
    given = draw.type(variety)
    made = draw.type(variety) if kind == "MEAN" or (kind == "SUM" and variety == "int8") else given
    if kind == "MEAN" and draw.integer(0, 1):
        made = given
    kept = [1 if axis in axes else size for axis, size in enumerate(dims)]
    out = tuple(kept) if keep else tuple(size for axis, size in enumerate(dims) if axis not in axes)
    signed = [axis - rank if draw.integer(0, 1) else axis for axis in axes]
    return one(kind, [(dims, given)], [(out, made)], [numpy.array(signed, numpy.int32)], (27, (0, "bool", keep)))


@family("SOFTMAX", varieties=ALL)
@family("LOG_SOFTMAX", varieties=("float", "int8", "uint8"))
def _softmax(draw: Draw, kind: str, variety: str) -> Graph:
    dims, given = (*draw.dims(draw.integer(1, 3), 4)[:-1], draw.integer(2, 20)), draw.type(variety)
    made = draw.type(variety)
    low = {"int8": -128, "uint8": 0, "int16": 0}.get(variety, 0)
    if kind == "LOG_SOFTMAX" and variety != "float":
        made = {"dtype": variety, "scale": 16 / 256, "zero_point": low + 255}
        return one(kind, [(dims, given)], [(dims, made)], options=(36,))
    if variety in BYTES:
        made = {"dtype": variety, "scale": 1 / 256, "zero_point": low}
    if variety == "int16":
        made = {"dtype": "int16", "scale": 1 / 32768, "zero_point": 0}
    beta = 1.0 if draw.integer(0, 2) else float(draw.scale(0.3, 2.0))
    return one(kind, [(dims, given)], [(dims, made)], options=(9, (0, "float32", beta)) if kind == "SOFTMAX" else (36,))


@family("ARG_MAX", "ARG_MIN", varieties=("float", "int8", "uint8", "int32"))
def _place(draw: Draw, kind: str, variety: str) -> Graph:
    rank = draw.integer(2, 4)
    dims, axis, number = draw.dims(rank), draw.integer(0, rank - 1), 40 if kind == "ARG_MAX" else 57
    out = tuple(size for one, size in enumerate(dims) if one != axis)
    return one(
        kind,
        [(dims, draw.type(variety))],
        [(out, INT32)],
        [numpy.array(axis - draw.choice(0, rank), numpy.int32)],
        (number, (0, "int8", 2)),
    )


@family("L2_NORMALIZATION", varieties=("float", "int8", "uint8"))
def _norm(draw: Draw, kind: str, variety: str) -> Graph:
    dims, made = draw.dims(draw.integer(2, 4)), draw.type(variety)
    if variety != "float":
        made = {"dtype": variety, "scale": 1 / 128, "zero_point": 0 if variety == "int8" else 128}
    return one(kind, [(dims, draw.type(variety))], [(dims, made)], options=(12, (0, "int8", 0)))


# Windows and linear layers.


def _extent(size: int, kernel: int, stride: int, dilation: int, padding: int) -> int:
    return -(-size // stride) if padding == 0 else (size - (kernel - 1) * dilation - 1) // stride + 1


@family("MAX_POOL_2D", "AVERAGE_POOL_2D", varieties=ALL)
def _pool(draw: Draw, kind: str, variety: str) -> Graph:
    height, width, channels = draw.integer(3, 9), draw.integer(3, 9), draw.integer(1, 9)
    kernel, strides, padding = [draw.integer(1, 3) for _ in "hw"], [draw.integer(1, 3) for _ in "hw"], draw.integer(0, 1)
    how, batch = draw.type(variety), draw.integer(1, 2)
    out = [_extent(size, k, s, 1, padding) for size, k, s in zip((height, width), kernel, strides)]
    numbers = (padding, strides[1], strides[0], kernel[1], kernel[0], draw.choice(*_FUSED))
    types = ("int8", "int32", "int32", "int32", "int32", "int8")
    options = (5, *((place, type_, value) for place, (type_, value) in enumerate(zip(types, numbers))))
    return one(kind, [((batch, height, width, channels), how)], [((batch, *out, channels), how)], options=options)


def _parameters(draw: Draw, variety: str, weights: Sequence[int], channels: int, axis: int, given: dict) -> tuple[list, float]:
    """Weights and bias, which may be left out, and the scale of sums."""
    if variety == "float":
        found: list = [(draw.values(weights, "float32"), {})]
        return [*found, (draw.values((channels,), "float32"), {})], 1.0
    count = max(1, int(numpy.prod(weights)) // channels)
    if variety == "uint8":
        scales, points = numpy.array([draw.scale(0.002, 0.02)]), draw.integer(90, 160)
        stored: tuple = (draw.values(weights, "uint8", 0, 255), {"scale": scales[0], "zero_point": points})
    elif variety.endswith("tensor"):
        scales = numpy.array([draw.scale(0.002, 0.02)])
        stored = (draw.values(weights, "int8"), {"scale": scales[0]})
    else:
        scales = numpy.array([draw.scale(0.002, 0.02) for _ in range(channels)], numpy.float32)
        stored = (draw.values(weights, "int8"), {"scale": scales, "axis": axis})
    reach = 40 * 70 * int(count**0.5) if "int16" not in variety else 9000 * 70 * int(count**0.5)
    kind = "int64" if "int16" in variety else "int32"
    bias = (
        draw.values((channels,), kind, -reach, reach),
        {"scale": numpy.float32(given["scale"]) * scales.astype(numpy.float32)},
    )
    real = float(scales.mean()) * float(given["scale"]) * count**0.5 * 70 * (70 if "int16" not in variety else 18000)
    return [stored, bias], real


def _result(draw: Draw, variety: str, real: float) -> dict[str, Any]:
    """A stored type for numbers of about this size."""
    if variety == "float":
        return {"dtype": "float32"}
    kind = variety.split()[0]
    how = draw.type(kind)
    return {**how, "scale": numpy.float32(real / (25000 if kind == "int16" else 100) * float(draw.scale(0.6, 2.5)))}


LINEAR = ("float", "int8", "int8 tensor", "uint8", "int16", "int16 tensor")


@family("CONV_2D", varieties=LINEAR)
def _conv(draw: Draw, kind: str, variety: str) -> Graph:
    given = draw.type(variety.split()[0])
    height, width, channels, filters = draw.integer(3, 9), draw.integer(3, 9), draw.integer(1, 8), draw.integer(1, 9)
    kernel, strides, padding = [draw.integer(1, 3) for _ in "hw"], [draw.integer(1, 2) for _ in "hw"], draw.integer(0, 1)
    dilations = [draw.integer(1, 2) if (k - 1) * 2 + 1 <= size else 1 for k, size in zip(kernel, (height, width))]
    out = [_extent(size, k, s, d, padding) for size, k, s, d in zip((height, width), kernel, strides, dilations)]
    constants, real = _parameters(draw, variety, (filters, *kernel, channels), filters, 0, given)
    options = [(0, "int8", padding), (1, "int32", strides[1]), (2, "int32", strides[0]), (3, "int8", draw.choice(0, 0, 1, 3))]
    options += [(4, "int32", dilations[1]), (5, "int32", dilations[0])]
    made = _result(draw, variety, real)
    return one(kind, [((1, height, width, channels), given)], [((1, *out, filters), made)], constants, (1, *options))


@family("DEPTHWISE_CONV_2D", varieties=LINEAR)
def _depthwise(draw: Draw, kind: str, variety: str) -> Graph:
    given = draw.type(variety.split()[0])
    height, width, channels, times = draw.integer(3, 9), draw.integer(3, 9), draw.integer(1, 8), draw.choice(1, 1, 2, 3)
    kernel, stride, padding, filters = (
        [draw.integer(1, 3) for _ in "hw"],
        draw.integer(1, 2),
        draw.integer(0, 1),
        channels * times,
    )
    out = [_extent(size, k, stride, 1, padding) for size, k in zip((height, width), kernel)]
    constants, real = _parameters(draw, variety, (1, *kernel, filters), filters, 3, given)
    options = [
        (0, "int8", padding),
        (1, "int32", stride),
        (2, "int32", stride),
        (3, "int32", times),
        (4, "int8", draw.choice(0, 0, 1, 3)),
    ]
    made = _result(draw, variety, real)
    return one(kind, [((1, height, width, channels), given)], [((1, *out, filters), made)], constants, (2, *options))


@family("FULLY_CONNECTED", varieties=LINEAR)
def _fully_connected(draw: Draw, kind: str, variety: str) -> Graph:
    given = draw.type(variety.split()[0])
    rows, width, outputs = draw.integer(1, 3), draw.integer(1, 40), draw.integer(1, 12)
    constants, real = _parameters(draw, variety, (outputs, width), outputs, 0, given)
    made = _result(draw, variety, real)
    return one(kind, [((rows, width), given)], [((rows, outputs), made)], constants, (8, (0, "int8", draw.choice(0, 0, 1, 3))))


@family("TRANSPOSE_CONV", varieties=LINEAR)
def _transpose_conv(draw: Draw, kind: str, variety: str) -> Graph:
    given = draw.type(variety.split()[0])
    height, width, channels, filters = draw.integer(1, 5), draw.integer(1, 5), draw.integer(1, 6), draw.integer(1, 6)
    strides, padding = [draw.integer(1, 3) for _ in "hw"], draw.integer(0, 1)
    kernel = [draw.integer(1, 4) for _ in "hw"]
    if padding == 0:
        out = [size * s for size, s in zip((height, width), strides)]
    else:
        out = [(size - 1) * s + k for size, s, k in zip((height, width), strides, kernel)]
    constants, real = _parameters(draw, variety, (filters, *kernel, channels), filters, 0, given)
    graph = Graph()
    shape = graph.constant(numpy.array([1, *out, filters], numpy.int32))
    (weights, stored), (bias, scaled) = constants
    names = [shape, graph.constant(weights, **stored), graph.input((1, height, width, channels), **given)]
    if draw.integer(0, 1):
        names.append(graph.constant(bias, **scaled))
    fused = (draw.choice(0, 1),)[0]
    options = (0, "int8", padding), (1, "int32", strides[1]), (2, "int32", strides[0]), (3, "int8", fused)
    graph.node(kind, names, [graph.output((1, *out, filters), **_result(draw, variety, real))], 49, *options)
    return graph


@family("BATCH_MATMUL", varieties=("float", "int8", "int16"))
def _matmul(draw: Draw, kind: str, variety: str) -> Graph:
    rows, inner, columns, batch = draw.integer(1, 6), draw.integer(1, 12), draw.integer(1, 6), draw.dims(draw.integer(1, 2), 3)
    turned = draw.integer(0, 1), draw.integer(0, 1)
    first = (*batch, *((inner, rows) if turned[0] else (rows, inner)))
    second = (*batch, *((columns, inner) if turned[1] else (inner, columns)))
    types = draw.type(variety), draw.type(variety)
    made = draw.type(variety)
    if variety != "float":
        real = float(types[0]["scale"]) * float(types[1]["scale"]) * inner**0.5 * (5000 if variety == "int8" else 3e8)
        made = _result(draw, variety, real)
    options = (101, (0, "bool", bool(turned[0])), (1, "bool", bool(turned[1])))
    return one(kind, [(first, types[0]), (second, types[1])], [((*batch, rows, columns), made)], options=options)


@family("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", varieties=ALL)
def _resize(draw: Draw, kind: str, variety: str) -> Graph:
    dims, how = (draw.integer(1, 2), draw.integer(1, 7), draw.integer(1, 7), draw.integer(1, 5)), draw.type(variety)
    sizes, mode = [draw.integer(1, 11), draw.integer(1, 11)], draw.integer(0, 2)
    number, first = (15, 2) if kind == "RESIZE_BILINEAR" else (74, 0)
    options = (number, (first, "bool", mode == 1), (first + 1, "bool", mode == 2))
    return one(kind, [(dims, how)], [((dims[0], *sizes, dims[3]), how)], [numpy.array(sizes, numpy.int32)], options)


# What remembers: the seeded inputs are frames of one stream.


@family("SVDF", varieties=("float", "int8"))
def _svdf(draw: Draw, kind: str, variety: str) -> Graph:
    batch, inputs, units, rank, memory = (draw.integer(1, most) for most in (2, 8, 5, 3, 6))
    filters, graph, given, made = units * rank, Graph(), draw.type(variety), draw.type(variety)
    x = graph.input((batch, inputs), **given)
    if variety == "float":
        names = [x, *(graph.constant(draw.values(dims, "float32")) for dims in ((filters, inputs), (filters, memory), (units,)))]
        state = {"dtype": "float32"}
    else:
        scales = [draw.scale(0.002, 0.02), draw.scale(1e-5, 1e-4)]
        state = {"dtype": "int16", "scale": given["scale"] * scales[0] * numpy.float32(inputs**0.5 * 0.2), "zero_point": 0}
        sums = state["scale"] * scales[1]
        made = {**made, "scale": sums * numpy.float32(8e5 * (memory * rank) ** 0.5)}
        features = graph.constant(draw.values((filters, inputs), "int8"), scale=scales[0])
        times = graph.constant(draw.values((filters, memory), "int16", -32768, 32767), scale=scales[1])
        names = [x, features, times, graph.constant(draw.values((units,), "int32", -90000, 90000), scale=sums)]
    names.append(graph.tensor((batch, filters * memory), is_variable=True, **state))
    fused = draw.choice(0, 1, 3) if variety == "float" else 1
    options = (0, "int32", rank), (1, "int8", fused)
    if draw.integer(0, 3) == 0:
        names[3] = -1
    graph.node(kind, names, [graph.output((batch, units), **made)], 6, *options)
    return graph


@family("UNIDIRECTIONAL_SEQUENCE_LSTM", varieties=("float", "int8"))
def _lstm(draw: Draw, kind: str, variety: str) -> Graph:
    batch, steps, inputs, units, major = (draw.integer(low, most) for low, most in ((1, 2), (1, 4), (1, 7), (1, 6), (0, 1)))
    graph, real = Graph(), variety == "float"
    dims = [(steps, batch, size) if major else (batch, steps, size) for size in (inputs, units)]
    given = draw.type(variety)
    x = graph.input(dims[0], **given)
    made = (
        draw.type(variety) if real else {"dtype": "int8", "scale": draw.scale(0.004, 0.009), "zero_point": draw.integer(-20, 20)}
    )
    cell = draw.type(variety) if real else {"dtype": "int16", "scale": 2.0 ** -draw.integer(10, 13), "zero_point": 0}

    def gates(columns: int) -> list[int]:
        found = []
        for _ in range(4):
            scale = {} if real else {"scale": draw.scale(0.002, 0.02)}
            shape = (units, columns) if columns else (units,)
            kind_of = "float32" if real else "int8" if columns else "int32"
            found.append(
                graph.constant(draw.values(shape, kind_of, *(() if columns else (-3000, 3000)[: 2 * (not real)])), **scale)
            )
        return found

    weights, recurrence, bias = gates(inputs), gates(units), gates(0)
    states = [graph.tensor((batch, units), is_variable=True, **how) for how in (made, cell)]
    inside = [] if real else [*(graph.tensor((), "int16", scale=2.0**-12) for _ in range(4)), graph.tensor((), **made)]
    clip = draw.choice(0.0, 0.3) if real else draw.choice(0.0, 0.0, 1.5)
    names = [x, *weights, *recurrence, -1, -1, -1, *bias, -1, -1, *states, -1, -1, -1, -1]
    options = (0, "int8", 4), (1, "float32", clip), (2, "float32", 0.0), (3, "bool", bool(major))
    graph.node(kind, names, [graph.output(dims[1], **made)], 71, *options, intermediates=inside)
    return graph


# Moves.


@family(
    "QUANTIZE",
    varieties=(
        "float int8",
        "float uint8",
        "float int16",
        "int8 int8",
        "uint8 uint8",
        "int8 uint8",
        "uint8 int8",
        "int16 int8",
        "int8 int16",
        "int16 int16",
    ),
)
def _quantize(draw: Draw, kind: str, variety: str) -> Graph:
    dims, (given, made) = draw.dims(draw.integer(1, 4)), variety.split()
    return one(kind, [(dims, draw.type(given))], [(dims, draw.type(made))])


@family("DEQUANTIZE", varieties=("int8", "uint8", "int16"))
def _dequantize(draw: Draw, kind: str, variety: str) -> Graph:
    dims = draw.dims(draw.integer(1, 4))
    return one(kind, [(dims, draw.type(variety))], [(dims, draw.type("float"))])


@family("CONCATENATION", varieties=(*ALL, "int32"))
def _concatenation(draw: Draw, kind: str, variety: str) -> Graph:
    rank = draw.integer(1, 4)
    dims, axis, how = draw.dims(rank, 5), draw.integer(0, rank - 1), draw.type(variety)
    sizes = [draw.integer(1, 5) for _ in range(draw.integer(2, 4))]
    parts = [((*dims[:axis], size, *dims[axis + 1 :]), how) for size in sizes]
    whole = (*dims[:axis], sum(sizes), *dims[axis + 1 :])
    return one(kind, parts, [(whole, how)], options=(10, (0, "int32", axis - draw.choice(0, rank)), (1, "int8", 0)))


@family("PAD", varieties=(*ALL, "int32"))
@family("MIRROR_PAD", varieties=("float", "int8", "uint8"))
def _pad(draw: Draw, kind: str, variety: str) -> Graph:
    dims, how = tuple(size + 3 for size in draw.dims(draw.integer(1, 4), 4)), draw.type(variety)
    pads = numpy.array([[draw.integer(0, 2), draw.integer(0, 2)] for _ in dims], numpy.int32)
    out = tuple(size + int(pair.sum()) for size, pair in zip(dims, pads))
    return one(kind, [(dims, how)], [(out, how)], [pads], (77, (0, "int8", 0)) if kind == "MIRROR_PAD" else (22,))


@family("TRANSPOSE", varieties=(*ALL, "int32"))
def _transpose(draw: Draw, kind: str, variety: str) -> Graph:
    rank = draw.integer(2, 5)
    dims, how, order = draw.dims(rank, 4), draw.type(variety), draw.random.permutation(rank)
    return one(kind, [(dims, how)], [(tuple(dims[axis] for axis in order), how)], [order.astype(numpy.int32)])


@family("SPLIT", varieties=(*ALL, "int32"))
def _split(draw: Draw, kind: str, variety: str) -> Graph:
    rank, pieces, how = draw.integer(1, 4), draw.integer(1, 3), draw.type(variety)
    dims, axis = list(draw.dims(rank, 4)), draw.integer(0, rank - 1)
    part = tuple(dims)
    dims[axis] *= pieces
    graph = Graph()
    names = [graph.constant(numpy.array(axis - draw.choice(0, rank), numpy.int32)), graph.input(dims, **how)]
    graph.node(kind, names, [graph.output(part, **how) for _ in range(pieces)], 35, (0, "int32", pieces))
    return graph


@family("STRIDED_SLICE", varieties=(*ALL, "int32"))
def _strided_slice(draw: Draw, kind: str, variety: str) -> Graph:
    rank, how = draw.integer(1, 4), draw.type(variety)
    dims = tuple(size + 2 for size in draw.dims(rank, 5))
    begin, end, steps, shrink, out = [], [], [], 0, []
    for axis, size in enumerate(dims):
        if draw.integer(0, 3) == 0 and rank > 1 and axis < rank - 1:
            at = draw.integer(-size, size - 1)
            begin.append(at)
            end.append(at + 1)
            steps.append(1)
            shrink |= 1 << axis
            continue
        first, last = sorted(draw.random.choice(size + 1, 2, replace=False).tolist())
        step = draw.choice(1, 1, 2, -1)
        if step < 0:
            first, last = last - 1, first - 1
        begin.append(first)
        end.append(last if last >= 0 else -size - 1)
        steps.append(step)
        out.append(len(range(first, last, step)))
    bounds = [numpy.array(numbers, numpy.int32) for numbers in (begin, end, steps)]
    return one(kind, [(dims, how)], [(tuple(out), how)], bounds, (32, (4, "int32", shrink)))


@family("GATHER", varieties=(*ALL, "int32"))
def _gather(draw: Draw, kind: str, variety: str) -> Graph:
    rank, how = draw.integer(1, 4), draw.type(variety)
    dims, axis, count = draw.dims(rank, 5), draw.integer(0, rank - 1), draw.integer(1, 5)
    indices = draw.random.integers(0, dims[axis], count).astype(numpy.int32)
    return one(kind, [(dims, how)], [((*dims[:axis], count, *dims[axis + 1 :]), how)], [indices], (23, (0, "int32", axis)))


@family("TOPK_V2", varieties=("float", "int32"))
def _top_k(draw: Draw, kind: str, variety: str) -> Graph:
    dims, how = draw.dims(draw.integer(1, 3)), draw.type(variety)
    count = draw.integer(1, dims[-1])
    made = [((*dims[:-1], count), how), ((*dims[:-1], count), INT32)]
    return one(kind, [(dims, how)], made, [numpy.array(count, numpy.int32)], (34,))


@family("ONE_HOT", varieties=("float", "int32"))
def _one_hot(draw: Draw, kind: str, variety: str) -> Graph:
    rank, depth, dtype = draw.integer(1, 3), draw.integer(1, 6), "float32" if variety == "float" else variety
    dims, axis = draw.dims(rank, 4), draw.integer(0, rank)
    constants = [numpy.array(depth, numpy.int32), *(draw.values((), dtype) for _ in range(2))]
    made = (*dims[:axis], depth, *dims[axis:])
    options = (61, (0, "int32", -1 if axis == rank else axis))
    return one(kind, [(dims, INT32)], [(made, draw.type(variety))], constants, options)


@family("GATHER_ND", varieties=("float", "int8", "int16", "int32"))
@family("SCATTER_ND", varieties=("float", "int32"))
def _tuples(draw: Draw, kind: str, variety: str) -> Graph:
    rank, how, count = draw.integer(1, 4), draw.type(variety), draw.integer(1, 5)
    dims, depth = draw.dims(rank, 4), draw.integer(1, rank)
    indices = numpy.stack([draw.random.integers(0, size, count) for size in dims[:depth]], axis=-1).astype(numpy.int32)
    slices = (count, *dims[depth:])
    if kind == "GATHER_ND":
        return one(kind, [(dims, how)], [(slices, how)], [indices], (83,))
    graph = Graph()
    names = [graph.constant(indices), graph.input(slices, **how), graph.constant(numpy.array(dims, numpy.int32))]
    graph.node(kind, names, [graph.output(dims, **how)], 97)
    return graph


@family("EMBEDDING_LOOKUP", varieties=("float",))
def _embedding(draw: Draw, kind: str, variety: str) -> Graph:
    graph, rows, count, width = Graph(), draw.integer(1, 9), draw.integer(1, 5), draw.integer(1, 9)
    indices = graph.constant(draw.random.integers(0, rows, count).astype(numpy.int32))
    graph.node(kind, [indices, graph.input((rows, width))], [graph.output((count, width))])
    return graph


@family("CUMSUM", varieties=("float", "int32"))
def _cumulative(draw: Draw, kind: str, variety: str) -> Graph:
    rank, how = draw.integer(1, 4), draw.type(variety)
    dims, axis = draw.dims(rank), numpy.array(draw.integer(-rank, rank - 1), numpy.int32)
    options = (102, (0, "bool", bool(draw.integer(0, 1))), (1, "bool", bool(draw.integer(0, 1))))
    return one(kind, [(dims, how)], [(dims, how)], [axis], options)


@family("TILE", varieties=("float", "int8", "int32"))
def _tile(draw: Draw, kind: str, variety: str) -> Graph:
    dims, how = draw.dims(draw.integer(1, 4), 4), draw.type(variety)
    counts = [draw.integer(1, 3) for _ in dims]
    return one(kind, [(dims, how)], [(tuple(a * b for a, b in zip(dims, counts)), how)], [numpy.array(counts, numpy.int32)])


@family("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", varieties=("float", "int8", "uint8"))
def _blocks(draw: Draw, kind: str, variety: str) -> Graph:
    block, how = draw.integer(1, 3), draw.type(variety)
    batch, height, width, channels = draw.integer(1, 2), draw.integer(1, 4), draw.integer(1, 4), draw.integer(1, 3)
    deep, wide = (batch, height, width, channels * block * block), (batch, height * block, width * block, channels)
    given, made = (deep, wide) if kind == "DEPTH_TO_SPACE" else (wide, deep)
    return one(kind, [(given, how)], [(made, how)], options=(94 if kind == "DEPTH_TO_SPACE" else 19, (0, "int32", block)))


# Those without a meaning under the contract `double`: each is refused by name.
REFUSED = (
    "DIV uint8",
    "L2_NORMALIZATION uint8",
    "LOG_SOFTMAX int8",
    "LOG_SOFTMAX uint8",
    "RESIZE_BILINEAR uint8",
    "RSQRT int8",
    "SQUARED_DIFFERENCE int8",
    "SUM int8",
    "TRANSPOSE_CONV int16",
    "TRANSPOSE_CONV int16 tensor",
)


def family_of(name: str) -> str:
    """The operator and the type of a case."""
    return name.partition(" random ")[0]


def inputs_of(name: str, types: Sequence[tuple[tuple[int, ...], str]], count: int = 2) -> list[list[numpy.ndarray]]:
    """`count` seeded inputs, in the dims of the file: floats between -4 and 4, bytes and halfwords over their whole range."""
    draw, rows = Draw(f"{name} inputs"), []
    for _ in range(count):
        row = []
        for dims, dtype in types:
            if dtype == "float32":
                low = 0.01 if name.startswith(("RSQRT", "LOG ", "SQRT", "POW")) else -4.0
                row.append((draw.random.random(dims) * (4.0 - low) + low).astype(numpy.float32))
            elif dtype == "bool":
                row.append(draw.random.integers(0, 2, dims).astype(bool))
            elif dtype in ("int32", "int64"):
                row.append(draw.random.integers(-30, 30, dims).astype(dtype))
            else:
                info = numpy.iinfo(dtype)
                row.append(draw.random.integers(info.min, info.max, dims, dtype=dtype, endpoint=True))
        rows.append(row)
    return rows
