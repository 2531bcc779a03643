# SPDX-License-Identifier: MIT
"""Models of one operator each, as .tflite files, with seeded inputs: what the importer is compared with LiteRT on."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tests.tflite_files import Graph, write

Q = {"dtype": "int8", "scale": 0.05, "zero_point": -3}  # a tensor of about -6 .. 6
WIDE = {"dtype": "int8", "scale": 0.11, "zero_point": 10}
UNIT = {"dtype": "int8", "scale": 1 / 256, "zero_point": -128}  # what softmax and logistic write
SIGNED = {"dtype": "int8", "scale": 1 / 128, "zero_point": 0}  # what tanh and l2 write
U8 = {"dtype": "uint8", "scale": 0.05, "zero_point": 125}
I16 = {"dtype": "int16", "scale": 0.0004, "zero_point": 0}
F: dict[str, Any] = {"dtype": "float32"}
POINTWISE = {
    "ABS": (Q, Q),
    "CEIL": (F, F),
    "COS": (F, F),
    "ELU": (Q, WIDE),
    "EXP": (F, F),
    "FLOOR": (F, F),
    "HARD_SWISH": (Q, WIDE),
    "LEAKY_RELU": (Q, WIDE),
    "LOGISTIC": (Q, UNIT),
    "NEG": (Q, Q),
    "RELU": (Q, WIDE),
    "RELU6": (Q, WIDE),
    "RELU_N1_TO_1": (Q, WIDE),
    "ROUND": (F, F),
    "SIN": (F, F),
    "SQUARE": (F, F),
    "TANH": (Q, SIGNED),
    "GELU": (F, F),
}
_OPTIONS = {"LEAKY_RELU": (75, (0, "float32", 0.2)), "GELU": (116, (0, "bool", False))}
CLAMPS = {"": 0, "relu": 1, "relu_n1_to_1": 2, "relu6": 3}
GRAPHS: dict[str, Callable[[], Graph]] = {}
CASES: dict[str, Callable[[], bytes]] = {}


def case(name: str) -> Callable[[Callable[[], Graph]], Callable[[], bytes]]:
    """Register a function that makes the graph of a case."""

    def mark(made: Callable[[], Graph]) -> Callable[[], bytes]:
        return _register(name, made)

    return mark


def _register(name: str, made: Callable[[], Graph]) -> Callable[[], bytes]:
    GRAPHS[name] = made
    CASES[name] = lambda: write(made())
    return CASES[name]


def numbers(name: str, dims: Sequence[int], low: int = -127, high: int = 128, dtype=numpy.int8) -> numpy.ndarray:
    """Seeded integers for the constants of a case."""
    return numpy.random.Generator(numpy.random.PCG64(zlib.crc32(name.encode()))).integers(low, high, dims).astype(dtype)


def one(kind: str, given: Sequence[tuple], made: Sequence[tuple], constants: Sequence = (), options: tuple = (0,)) -> Graph:
    """`given` and `made` are (dims, type); `constants` stand behind the inputs, arrays or (array, how it is quantized)."""
    graph = Graph()
    reads = [graph.input(dims, **how) for dims, how in given]
    for constant in constants:
        values, how = constant if isinstance(constant, tuple) else (constant, {})
        reads.append(graph.constant(values, **how))
    graph.node(kind, reads, [graph.output(dims, **how) for dims, how in made], *options)
    return graph


def add(name: str, *arguments, **more) -> None:
    """Register a case of one node."""
    _register(name, lambda: one(*arguments, **more))


for _kind, (_given, _made) in POINTWISE.items():
    for _type, _read, _written in (("float", F, F), ("int8", _given, _made)):
        if _type == "float" or _given is not F:
            add(f"{_kind} {_type}", _kind, [((2, 3, 7), _read)], [((2, 3, 7), _written)], options=_OPTIONS.get(_kind, (0,)))
for _kind, _number in (("ADD", 11), ("SUB", 28), ("MUL", 21)):
    for _name, _clamp in CLAMPS.items():
        for _type, _read, _written in (("float", F, F), ("int8", Q, WIDE), ("uint8", U8, U8)):
            if _type != "uint8" or not _clamp:
                add(
                    f"{_kind} {_type} {_name}".strip(),
                    _kind,
                    [((1, 3, 4, 5), _read), ((1, 3, 4, 5), _read if _type != "int8" else WIDE)],
                    [((1, 3, 4, 5), _written)],
                    options=(_number, (0, "int8", _clamp)),
                )
add("DIV float", "DIV", [((3, 4), F), ((3, 4), F)], [((3, 4), F)], options=(29, (0, "int8", 0)))
for _kind in ("MAXIMUM", "MINIMUM"):
    add(f"{_kind} float", _kind, [((2, 3), F), ((2, 3), F)], [((2, 3), F)])
    add(f"{_kind} int8", _kind, [((2, 3), Q), ((2, 3), Q)], [((2, 3), Q)])
add("SQUARED_DIFFERENCE float", "SQUARED_DIFFERENCE", [((2, 9), F), ((2, 9), F)], [((2, 9), F)])
add("RSQRT float", "RSQRT", [((2, 9), F)], [((2, 9), F)])
for _kind in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
    add(f"{_kind} float", _kind, [((2, 9), F), ((2, 9), F)], [((2, 9), {"dtype": "bool"})])
    add(f"{_kind} int8", _kind, [((2, 90), Q), ((2, 90), Q)], [((2, 90), {"dtype": "bool"})])

_AXES = numpy.array([1, 2], numpy.int32)
for _kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
    for _keep in (False, True):
        _dims = (1, 1, 1, 6) if _keep else (1, 6)
        for _type, _how in (("float", F), ("int8", Q)):
            _out = WIDE if _type == "int8" and _kind in ("MEAN", "SUM") else _how
            _options = (27, (0, "bool", _keep))
            add(f"{_kind} {_type} {_keep}", _kind, [((1, 5, 3, 6), _how)], [(_dims, _out)], [_AXES], _options)
for _type, _how, _made in (("float", F, F), ("int8", Q, UNIT)):
    add(f"SOFTMAX {_type}", "SOFTMAX", [((3, 10), _how)], [((3, 10), _made)], options=(9, (0, "float32", 1.0)))
    add(f"SOFTMAX {_type} beta", "SOFTMAX", [((2, 6), _how)], [((2, 6), _made)], options=(9, (0, "float32", 0.5)))
add("LOG_SOFTMAX float", "LOG_SOFTMAX", [((3, 10), F)], [((3, 10), F)])
for _kind, _number in (("ARG_MAX", 40), ("ARG_MIN", 57)):
    for _type, _how in (("float", F), ("int8", Q)):
        _made = [((2, 5), {"dtype": "int32"})]
        add(f"{_kind} {_type}", _kind, [((2, 5, 7), _how)], _made, [numpy.array(-1, numpy.int32)], (_number, (0, "int8", 2)))

for _type, _how in (("float", F), ("int8", Q), ("uint8", U8)):
    _window = (5, (0, "int8", 0), (1, "int32", 2), (2, "int32", 1), (3, "int32", 3), (4, "int32", 2), (5, "int8", 0))
    for _kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        add(f"{_kind} {_type}", _kind, [((1, 6, 7, 4), _how)], [((1, 6, 4, 4), _how)], options=_window)
    add(f"RESHAPE {_type}", "RESHAPE", [((1, 4, 6, 2), _how)], [((1, 2, 24), _how)], [numpy.array([1, -1, 24], numpy.int32)])
    _order = numpy.array([0, 3, 1, 2], numpy.int32)
    add(f"TRANSPOSE {_type}", "TRANSPOSE", [((1, 4, 6, 2), _how)], [((1, 2, 4, 6), _how)], [_order])
    _pads = numpy.array([[0, 0], [1, 2], [0, 1], [2, 0]], numpy.int32)
    add(f"PAD {_type}", "PAD", [((1, 4, 3, 2), _how)], [((1, 7, 4, 4), _how)], [_pads])
    _cut = [numpy.array([0, 1, 0, 1], numpy.int32), numpy.array([1, 2, -1, 1], numpy.int32)]
    add(f"SLICE {_type}", "SLICE", [((1, 4, 3, 2), _how)], [((1, 2, 3, 1), _how)], _cut)
    _bounds = [numpy.array(one, numpy.int32) for one in ([0, 3, 0, 1], [1, 0, 3, 2], [1, -2, 2, 1])]
    _masks = (32, (0, "int32", 0), (1, "int32", 2), (4, "int32", 8))
    add(f"STRIDED_SLICE {_type}", "STRIDED_SLICE", [((1, 4, 3, 2), _how)], [((1, 2, 2), _how)], _bounds, _masks)
    _twice = [((1, 2, 3, 2), _how), ((1, 2, 3, 4), _how)]
    _along = (10, (0, "int32", -1), (1, "int8", 0))
    add(f"CONCATENATION {_type}", "CONCATENATION", _twice, [((1, 2, 3, 6), _how)], options=_along)
    _packed = (59, (0, "int32", 2), (1, "int32", 1))
    add(f"PACK {_type}", "PACK", [((2, 3), _how), ((2, 3), _how)], [((2, 2, 3), _how)], options=_packed)
    _unpacked = (64, (0, "int32", 2), (1, "int32", 1))
    add(f"UNPACK {_type}", "UNPACK", [((3, 2, 4), _how)], [((3, 4), _how)] * 2, options=_unpacked)
    _sizes = [numpy.array([1, -1], numpy.int32), numpy.array(1, numpy.int32)]
    add(f"SPLIT_V {_type}", "SPLIT_V", [((2, 5), _how)], [((2, 1), _how), ((2, 4), _how)], _sizes, (79, (0, "int32", 2)))
    _indices = [numpy.array([2, 0, 2], numpy.int32)]
    add(f"GATHER {_type}", "GATHER", [((2, 3, 2), _how)], [((2, 3, 2), _how)], _indices, (23, (0, "int32", 1)))
    for _kind, _number, _dims in (("DEPTH_TO_SPACE", 94, (1, 6, 4, 2)), ("SPACE_TO_DEPTH", 19, (1, 1, 1, 48))):
        _given = (1, 3, 2, 8) if _kind == "DEPTH_TO_SPACE" else (1, 2, 2, 12)
        add(f"{_kind} {_type}", _kind, [(_given, _how)], [(_dims, _how)], options=(_number, (0, "int32", 2)))
    _blocks = [numpy.array([2, 3], numpy.int32), numpy.array([[1, 0], [1, 1]], numpy.int32)]
    add(f"SPACE_TO_BATCH_ND {_type}", "SPACE_TO_BATCH_ND", [((1, 3, 4, 2), _how)], [((6, 2, 2, 2), _how)], _blocks)
    add(f"BATCH_TO_SPACE_ND {_type}", "BATCH_TO_SPACE_ND", [((6, 2, 2, 2), _how)], [((1, 3, 4, 2), _how)], _blocks)
add(
    "MIRROR_PAD float",
    "MIRROR_PAD",
    [((3, 4), F)],
    [((5, 6), F)],
    [numpy.array([[1, 1], [2, 0]], numpy.int32)],
    (77, (0, "int8", 0)),
)
_value = (numpy.array(7, numpy.int8), Q)
add("PADV2 int8", "PADV2", [((3, 4), Q)], [((5, 6), Q)], [numpy.array([[1, 1], [2, 0]], numpy.int32), _value])
add("TILE float", "TILE", [((2, 3), F)], [((4, 9), F)], [numpy.array([2, 3], numpy.int32)])
add("REVERSE_V2 float", "REVERSE_V2", [((2, 3), F)], [((2, 3), F)], [numpy.array([1], numpy.int32)])
for _corners, _half in ((False, False), (True, False), (False, True)):
    for _kind, _number, _first in (("RESIZE_BILINEAR", 15, 2), ("RESIZE_NEAREST_NEIGHBOR", 74, 0)):
        for _type, _how in (("float", F), ("int8", Q)):
            _fields = (_first, "bool", _corners), (_first + 1, "bool", _half)
            _to = [numpy.array([7, 5], numpy.int32)]
            _name = f"{_kind} {_type} {'corners' if _corners else 'half' if _half else 'asymmetric'}"
            add(_name, _kind, [((1, 3, 4, 2), _how)], [((1, 7, 5, 2), _how)], _to, (_number, *_fields))
add("L2_NORMALIZATION float", "L2_NORMALIZATION", [((3, 8), F)], [((3, 8), F)], options=(12, (0, "int8", 0)))
add("L2_NORMALIZATION int8", "L2_NORMALIZATION", [((3, 8), Q)], [((3, 8), SIGNED)], options=(12, (0, "int8", 0)))
add("QUANTIZE float", "QUANTIZE", [((3, 8), F)], [((3, 8), Q)])
add("QUANTIZE int8", "QUANTIZE", [((3, 8), Q)], [((3, 8), WIDE)])
add("DEQUANTIZE int8", "DEQUANTIZE", [((3, 8), Q)], [((3, 8), F)])
add("DEQUANTIZE uint8", "DEQUANTIZE", [((3, 8), U8)], [((3, 8), F)])
add("CAST int32", "CAST", [((3, 8), F)], [((3, 8), {"dtype": "int32"})], options=(37, (0, "int8", 0), (1, "int8", 2)))
add("PRELU float", "PRELU", [((1, 3, 4, 2), F)], [((1, 3, 4, 2), F)], [numpy.float32([[[0.1, -0.3]]])])
_turned = (101, (0, "bool", False), (1, "bool", True))
add("BATCH_MATMUL float", "BATCH_MATMUL", [((2, 3, 4), F), ((2, 5, 4), F)], [((2, 3, 5), F)], options=_turned)
_large = {"dtype": "int8", "scale": 0.4, "zero_point": 5}
add("BATCH_MATMUL int8", "BATCH_MATMUL", [((2, 3, 4), Q), ((2, 5, 4), WIDE)], [((2, 3, 5), _large)], options=_turned)


def _layer(kind: str, name: str, dims, weights, made, channels: int, axis: int, options: tuple, bias_at: int = 2) -> None:
    """A linear layer in float, int8 per channel, uint8, int16x8, int4 and with hybrid weights."""
    values = numbers(name, weights)
    per_channel = numpy.float32(numpy.linspace(0.003, 0.02, channels))
    for variety, given, result in (
        ("float", F, F),
        ("int8", Q, WIDE),
        ("uint8", U8, {"dtype": "uint8", "scale": 0.2, "zero_point": 100}),
        ("int16", I16, {"dtype": "int16", "scale": 0.002, "zero_point": 0}),
    ):
        if variety == "float":
            stored: tuple = (values.astype(numpy.float32) * numpy.float32(0.01), {})
            bias: tuple = (numbers(f"{name} bias", channels).astype(numpy.float32) * numpy.float32(0.02), {})
        elif variety == "uint8":
            stored = (values.view(numpy.uint8), {"scale": 0.01, "zero_point": 120})
            bias = (
                numbers(f"{name} bias", channels, -900, 900, numpy.int32),
                {"scale": numpy.float32(0.05) * numpy.float32(0.01)},
            )
        else:
            stored = (values, {"scale": per_channel, "axis": axis})
            kind_of_bias, reach = (numpy.int32, 900) if variety == "int8" else (numpy.int64, 90_000)
            bias = (
                numbers(f"{name} bias", channels, -reach, reach, kind_of_bias),
                {"scale": numpy.float32(given["scale"]) * per_channel},
            )
        add(f"{name} {variety}", kind, [(dims, given)], [(made, result)], [stored, bias], options)


_conv = (1, (0, "int8", 0), (1, "int32", 2), (2, "int32", 1), (3, "int8", 1))
_layer("CONV_2D", "CONV_2D same", (1, 5, 6, 3), (4, 3, 2, 3), (1, 5, 3, 4), 4, 0, _conv)
_valid = (1, (0, "int8", 1), (1, "int32", 1), (2, "int32", 1), (3, "int8", 3), (4, "int32", 2), (5, "int32", 2))
_layer("CONV_2D", "CONV_2D dilated", (1, 6, 6, 2), (3, 2, 3, 2), (1, 4, 2, 3), 3, 0, _valid)
_depthwise = (2, (0, "int8", 0), (1, "int32", 1), (2, "int32", 1), (3, "int32", 2), (4, "int8", 0))
_layer("DEPTHWISE_CONV_2D", "DEPTHWISE_CONV_2D", (1, 4, 5, 3), (1, 3, 3, 6), (1, 4, 5, 6), 6, 3, _depthwise)
_plain = (2, (0, "int8", 0), (1, "int32", 2), (2, "int32", 2), (3, "int32", 1), (4, "int8", 1))
_layer("DEPTHWISE_CONV_2D", "DEPTHWISE_CONV_2D plain", (1, 4, 5, 4), (1, 3, 3, 4), (1, 2, 3, 4), 4, 3, _plain)
_layer("FULLY_CONNECTED", "FULLY_CONNECTED", (2, 12), (5, 12), (2, 5), 5, 0, (8, (0, "int8", 1)))


@case("TRANSPOSE_CONV float")
def _transpose_conv() -> Graph:
    return _transposed(F, F, numbers("tc", (3, 3, 3, 2)).astype(numpy.float32) * numpy.float32(0.01), {})


@case("TRANSPOSE_CONV int8")
def _transpose_conv_int8() -> Graph:
    scales = {"scale": numpy.float32([0.01, 0.02, 0.005]), "axis": 0}
    return _transposed(Q, WIDE, numbers("tc", (3, 3, 3, 2)), scales)


def _transposed(given, made, weights, how) -> Graph:
    graph = Graph()
    shape, stored = graph.constant(numpy.array([1, 8, 6, 3], numpy.int32)), graph.constant(weights, **how)
    data = graph.input((1, 4, 3, 2), **given)
    options = (0, "int8", 0), (1, "int32", 2), (2, "int32", 2), (3, "int8", 0)
    graph.node("TRANSPOSE_CONV", [shape, stored, data], [graph.output((1, 8, 6, 3), **made)], 49, *options)
    return graph


@case("CONV_2D in blocks")
def _blocks_around() -> Graph:
    """A dilated convolution as older converters write it: 5 x 7 pixels, taps 2 rows and 3 columns apart, SAME pads."""
    graph = Graph()
    blocks = graph.constant(numpy.array([2, 3], numpy.int32))
    pads = graph.constant(numpy.array([[2, 3], [3, 5]], numpy.int32))
    crops = graph.constant(numpy.array([[0, 1], [0, 2]], numpy.int32))
    weights = graph.constant(numbers("blocks", (3, 3, 3, 2)), scale=0.01)
    scale = numpy.float32(0.05) * numpy.float32(0.01)
    bias = graph.constant(numbers("blocks bias", 3, -900, 900, numpy.int32), scale=scale)
    apart, folded = graph.tensor((6, 5, 5, 2), **Q), graph.tensor((6, 3, 3, 3), **WIDE)
    graph.node("SPACE_TO_BATCH_ND", [graph.input((1, 5, 7, 2), **Q), blocks, pads], [apart])
    options = (0, "int8", 1), (1, "int32", 1), (2, "int32", 1), (3, "int8", 0)
    graph.node("CONV_2D", [apart, weights, bias], [folded], 1, *options)
    graph.node("BATCH_TO_SPACE_ND", [folded, blocks, crops], [graph.output((1, 5, 7, 3), **WIDE)])
    return graph


@case("TRANSPOSE_CONV int16")
def _transpose_conv_int16() -> Graph:
    graph = _transposed(I16, {"dtype": "int16", "scale": 0.002}, numbers("tc", (3, 3, 3, 2)), {"scale": 0.01})
    bias = graph.constant(numbers("tc bias", 3, -90_000, 90_000, numpy.int64), scale=numpy.float32(0.0004) * numpy.float32(0.01))
    graph.nodes[0]["inputs"] = [*graph.nodes[0]["inputs"], bias]
    return graph


@case("FULLY_CONNECTED hybrid")
def _hybrid() -> Graph:
    weights = numbers("hybrid", (5, 12)), {"scale": 0.01}
    made = numpy.arange(5, dtype=numpy.float32), {}
    return one("FULLY_CONNECTED", [((2, 12), F)], [((2, 5), F)], [weights, made], (8, (0, "int8", 0)))


@case("CONV_2D float16")
def _half() -> Graph:
    graph = Graph()
    data = graph.input((1, 4, 4, 2))
    names = []
    for values in (numbers("half", (3, 2, 2, 2)) * numpy.float16(0.01), numpy.float16([1, 2, 3])):
        half, real = graph.constant(values.astype(numpy.float16)), graph.tensor(values.shape)
        graph.node("DEQUANTIZE", [half], [real])
        names.append(real)
    options = (0, "int8", 1), (1, "int32", 1), (2, "int32", 1), (3, "int8", 0)
    graph.node("CONV_2D", [data, *names], [graph.output((1, 3, 3, 3))], 1, *options)
    return graph


@case("FULLY_CONNECTED int4")
def _int4() -> Graph:
    graph, values = Graph(), numbers("int4", (4, 8), -8, 8)
    halves = values.reshape(-1, 2).astype(numpy.uint8) & 15
    weights = graph.tensor((4, 8), "INT4", scale=0.1, data=(halves[:, 0] | halves[:, 1] << 4).tobytes())
    bias = graph.constant(numbers("int4 bias", 4, -900, 900, numpy.int32), scale=numpy.float32(0.05) * numpy.float32(0.1))
    graph.node("FULLY_CONNECTED", [graph.input((2, 8), **Q), weights, bias], [graph.output((2, 4), **WIDE)], 8, (0, "int8", 0))
    return graph


@case("small network")
def _network() -> Graph:
    """Convolution, pool, a sum of two branches, concatenation, fully connected layer, softmax."""
    graph = Graph()
    x = graph.input((1, 6, 6, 2), **Q)
    scale = numpy.float32(0.05) * numpy.float32(0.01)
    w = graph.constant(numbers("network", (4, 3, 3, 2)), scale=0.01)
    b = graph.constant(numbers("network bias", 4, -90, 90, numpy.int32), scale=scale)
    c = graph.tensor((1, 6, 6, 4), **Q)
    graph.node("CONV_2D", [x, w, b], [c], 1, (0, "int8", 0), (1, "int32", 1), (2, "int32", 1), (3, "int8", 1))
    p, t, s = (graph.tensor((1, 3, 3, 4), **Q) for _ in range(3))
    window = [(0, "int8", 1), *((number, "int32", 2) for number in (1, 2, 3, 4))]
    graph.node("MAX_POOL_2D", [c], [p], 5, *window)
    graph.node("TANH", [p], [t])
    graph.node("ADD", [p, t], [s], 11, (0, "int8", 0))
    j, flat, y = graph.tensor((1, 3, 3, 8), **Q), graph.tensor((1, 72), **Q), graph.tensor((1, 3), **WIDE)
    graph.node("CONCATENATION", [s, p], [j], 10, (0, "int32", 3))
    graph.node("RESHAPE", [j, graph.constant(numpy.array([1, 72], numpy.int32))], [flat])
    v = graph.constant(numbers("network weights", (3, 72)), scale=0.01)
    graph.node("FULLY_CONNECTED", [flat, v, -1], [y], 8, (0, "int8", 0))
    graph.node("SOFTMAX", [y], [graph.output((1, 3), **UNIT)], 9, (0, "float32", 1.0))
    return graph


def inputs_of(name: str, types: Sequence[tuple[tuple[int, ...], str]], count: int = 2) -> list[list[numpy.ndarray]]:
    """`count` seeded inputs of a case, in the dims of the file: floats between -2 and 2, integers over their whole range."""
    random = numpy.random.Generator(numpy.random.PCG64(zlib.crc32(name.encode())))
    positive = name.startswith(("RSQRT", "LOG ", "SQRT"))
    rows = []
    for _ in range(count):
        row = []
        for dims, dtype in types:
            kind = numpy.dtype(dtype)
            if kind.kind == "f":
                row.append((random.random(dims) * 4 - (0 if positive else 2)).astype(kind))
            else:
                limits = numpy.iinfo(kind)
                row.append(random.integers(limits.min, limits.max, dims, dtype=kind, endpoint=True))
        rows.append(row)
    return rows
