# SPDX-License-Identifier: MIT
"""Views between DequantizeLinear, an operator and QuantizeLinear do not hide the quantized operator."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.operators.arithmetic.requantize import dequantize_linear
from aidge_build.operators.view import Reshape, Transpose
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.move_views import _seen, move_views
from tests.compiled import program_of
from tests.models import graph, model, same_meaning, types

F, BYTE = numpy.float32, numpy.int8
RANDOM = numpy.random.default_rng(4)
NUMBERS = {
    "s": F(0.05),
    "z": BYTE(3),
    "sw": numpy.array([0.01, 0.02, 0.03, 0.04], F),
    "s1": F(0.01),
    "zw": numpy.zeros(4, BYTE),
    "z1": BYTE(0),
    "w": RANDOM.integers(-127, 128, (4, 6)).astype(BYTE),
    "v": RANDOM.integers(-127, 128, (4, 2, 3, 3)).astype(BYTE),
    "flat": numpy.array([6, 4]),
    "vector": numpy.array([-1, 6]),
    "image": numpy.array([1, 2, 6, 6]),
    "line": numpy.array([1, -1]),
    "sy": F(0.3),
    "zy": BYTE(-7),
    "first": numpy.array([1]),
    "end": numpy.array([7]),
    "axis": numpy.array([2]),
    "low": F(-0.5),
    "high": F(0.75),
}
FULLY_CONNECTED = "wf = DequantizeLinear<axis=0>(w, sw, zw) wt = Transpose<perm=[1,0]>(wf) a = MatMul(t, wt)"
CONVOLUTION = "vf = DequantizeLinear<axis=0>(v, sw, zw) a = Conv(t, vf)"
CASES = {
    "reshape in front of a matrix": (f"t = Reshape(r, vector) {FULLY_CONNECTED}", "[1,3,2,4]", "[4,4]"),
    "transpose in front of a matrix": (f"t = Transpose<perm=[1,0]>(r) {FULLY_CONNECTED}", "[6,5]", "[5,4]"),
    "two views": (f"p = Transpose<perm=[0,3,1,2]>(r) t = Reshape(p, vector) {FULLY_CONNECTED}", "[1,3,2,4]", "[4,4]"),
    "transpose in front of a convolution": (f"t = Transpose<perm=[0,3,1,2]>(r) {CONVOLUTION}", "[1,6,6,2]", "[1,4,4,4]"),
    "slice in front of a convolution": (f"t = Slice(r, first, end, axis) {CONVOLUTION}", "[1,2,8,6]", "[1,4,4,4]"),
    "view behind": (f"t = Identity(r) {CONVOLUTION} a2 = Flatten(a)", "[1,2,6,6]", "[1,64]"),
    "relu behind a view": (f"t = Identity(r) {CONVOLUTION} p = Flatten(a) a2 = Relu(p)", "[1,2,6,6]", "[1,64]"),
    "clip behind views of a sequence": (
        f"t = Identity(r) {FULLY_CONNECTED} p = Transpose<perm=[0,2,1]>(a) a2 = Clip(p, low, high)",
        "[1,3,6]",
        "[1,4,3]",
    ),
    "views on both sides": (f"t = Reshape(r, image) {CONVOLUTION} p = Flatten(a) a2 = Reshape(p, line)", "[72]", "[1,64]"),
}


def made(nodes: str, inputs: str, outputs: str):
    last = "a2" if "a2 =" in nodes else "a"
    text = f"r = DequantizeLinear(x, s, z) {nodes} y = QuantizeLinear({last}, sy, zy)"
    names = {word.strip("(),") for word in text.replace("(", " ").split()}
    used = {name: value for name, value in NUMBERS.items() if name in names}
    return graph(text, inputs=f"int8{inputs} x", outputs=f"int8{outputs} y", constants=used)


@pytest.mark.parametrize("name", CASES)
def test_the_operator_behind_a_view_computes_on_stored_values(name):
    before = made(*CASES[name])
    after = simplify(before)
    kinds = types(after)
    assert not {"DequantizeLinear", "QuantizeLinear"} & set(kinds) and {"FC", "Conv2D"} & set(kinds)
    assert all(tensor.dtype.name != "float32" for tensor in after.tensors.values())
    assert same_meaning(before, after)


def test_scales_of_a_transposed_constant_follow_their_axis():
    after = simplify(made(*CASES["reshape in front of a matrix"]))
    (node,) = [node for node in after.nodes if node.type == "FC"]
    weights = after.tensor(node.inputs[1])
    assert weights.dims == (4, 6) and weights.quantization.axis == 0 and len(set(weights.quantization.scales)) == 4


def test_a_view_with_a_reader_in_float_keeps_the_value_for_it():
    before = graph(
        "r = DequantizeLinear(x, s, z) t = Flatten(r) y = Softmax(t) q = QuantizeLinear(t, s, z)",
        inputs="int8[2,3,4] x",
        outputs="float[2,12] y, int8[2,12] q",
        constants={"s": NUMBERS["s"], "z": NUMBERS["z"]},
    )
    assert same_meaning(before, simplify(before))


def test_a_view_that_only_copies_into_more_elements_stays_behind():
    before = graph(
        "r = DequantizeLinear(x, s, z) t = Tile(r, image) y = Abs(t)",
        inputs="int8[1,1,2,2] x",
        outputs="float[1,2,12,12] y",
        constants={name: NUMBERS[name] for name in ("s", "z", "image")},
    )
    assert move_views(before) is before


def test_scales_along_an_axis_stay_with_it():
    before = graph(
        "r = DequantizeLinear<axis=1>(x, sw, zw) y = Transpose<perm=[1,0]>(r)",
        inputs="int8[3,4] x",
        outputs="float[4,3] y",
        constants={"sw": NUMBERS["sw"], "zw": NUMBERS["zw"]},
    )
    assert move_views(before) is before


def test_a_relu_whose_view_has_another_reader_stays_behind_it():
    before = graph(
        "n = Neg(x) r = Reshape(n, vector) a = Relu(r) b = Exp(r) y = Add(a, b)",
        inputs="float[2,3] x",
        outputs="float[1,6] y",
        constants={"vector": NUMBERS["vector"]},
    )
    assert move_views(before) is before
    alone = graph(
        "n = Neg(x) r = Reshape(n, vector) y = Relu(r)",
        inputs="float[2,3] x",
        outputs="float[1,6] y",
        constants={"vector": NUMBERS["vector"]},
    )
    assert types(move_views(alone)) == ["Neg", "ReLU", "Reshape"] and same_meaning(alone, move_views(alone))


def test_a_view_of_plain_integers_stays_one_on_both_of_its_sides():
    """uint8 bytes whose reader takes them as plain numbers: signed in front of the view and unsigned behind it they were."""
    before = graph(
        "n = Neg(x) r = Reshape(n, vector) q = QuantizeLinear(r, s, zu) a = MatMulInteger(q, m, zu) y = Cast<to=1>(a)",
        inputs="float[2,3] x",
        outputs="float[1,4] y",
        constants={
            "vector": NUMBERS["vector"],
            "s": NUMBERS["s"],
            "zu": numpy.uint8(100),
            "m": RANDOM.integers(-127, 128, (6, 4)).astype(BYTE),
        },
    )
    after = simplify(before)
    assert same_meaning(before, after)


SELECTIONS = {
    "DepthToSpace": ("t = DepthToSpace<blocksize=2>(r)", "[1,8,2,3]", "[1,2,4,6]"),
    "Gather": ("t = Gather<axis=1>(r, vector)", "[1,6,3]", "[1,3,3]"),
    "GatherElements": ("t = GatherElements<axis=1>(r, places)", "[2,4]", "[2,2]"),
    "GatherND": ("t = GatherND(r, places)", "[3,4]", "[2]"),
    "Resize": ("t = Resize<mode='nearest'>(r, , scales)", "[1,2,3,3]", "[1,2,6,6]"),
    "ReduceMax": ("t = ReduceMax<keepdims=0, axes=[2]>(r)", "[2,3,4]", "[2,3]"),
    "ReduceMin": ("t = ReduceMin<axes=[2]>(r)", "[2,3,4]", "[2,3,1]"),
    "Tile": ("t = Tile(r, many)", "[2,3]", "[4,9]"),
}
PLACES = {"places": numpy.array([[0, 1], [2, 3]]), "scales": numpy.float32([1, 1, 2, 2]), "many": numpy.array([2, 3])}


def selection(name: str, scale: str, zero_point: str):
    nodes, inputs, outputs = SELECTIONS[name]
    text = f"r = DequantizeLinear(x, s, z) {nodes} y = QuantizeLinear(t, {scale}, {zero_point})".replace("'", '"')
    known = NUMBERS | PLACES | {"vector": numpy.array([4, 0, -1])}
    names = {word.strip("(),") for word in text.replace("(", " ").split()}
    used = {one: value for one, value in known.items() if one in names}
    return graph(text, inputs=f"int8{inputs} x", outputs=f"int8{outputs} y", constants=used)


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_selects_elements_between_two_quantizations_works_on_bytes_and_the_fewer_of_them_are_requantized(name):
    before = selection(name, "sy", "zy")
    after = simplify(before)
    kinds = types(after)
    assert sorted(kinds) == sorted(["Table", name]) and all(tensor.dtype.name != "float32" for tensor in after.tensors.values())
    fewest = min(before.tensor("x").elements, before.tensor("y").elements)
    assert [after.tensor(node.outputs[0]).elements for node in after.nodes if node.type == "Table"] == [fewest]
    assert same_meaning(before, after)


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_selects_elements_of_one_quantization_is_an_island(name):
    before = selection(name, "s", "z")
    after = simplify(before)
    assert types(after) == [name] and after.tensor("y").quantization == after.tensor("x").quantization is not None
    assert same_meaning(before, after)


def test_a_resize_that_shows_what_lies_outside_selects_nothing():
    before = graph(
        'r = DequantizeLinear(x, s, z) t = Resize<mode="nearest", coordinate_transformation_mode="tf_crop_and_resize">'
        "(r, region, , sizes) y = QuantizeLinear(t, sy, zy)",
        inputs="int8[1,1,3,3] x",
        outputs="int8[1,1,4,4] y",
        constants={one: NUMBERS[one] for one in ("s", "z", "sy", "zy")}
        | {"region": numpy.float32([0, 0, -0.5, -0.5, 1, 1, 1.5, 1.5]), "sizes": numpy.array([1, 1, 4, 4])},
    )
    after = simplify(before)
    assert types(after) == ["Resize"] and same_meaning(before, after)  # with its quantizations: no kernel takes it for bytes


# Views of a constant with four scales: dims of the constant, axis of the scales, view, what reads it, dims of x and y.
SCALED_CONSTANTS = {
    "unsqueeze, convolution": ((4, 2), 0, "v = Unsqueeze(d, two)", "y = Conv(x, v)", "[1,2,5,5]", "[1,4,5,5]"),
    "squeeze and unsqueeze": (
        (1, 4, 2, 1),
        1,
        "u = Squeeze(d, zero) v = Unsqueeze(u, last)",
        "y = Conv(x, v)",
        "[1,2,5,5]",
        "[1,4,5,5]",
    ),
    "flatten, Gemm": ((4, 3, 1), 0, "v = Flatten(d)", "y = Gemm<transB = 1>(x, v)", "[2,3]", "[2,4]"),
    "multiplier of a depthwise": (
        (4, 2, 3, 3),
        0,
        "v = Reshape(d, eight)",
        "y = Conv<group = 4>(x, v)",
        "[1,4,5,5]",
        "[1,8,3,3]",
    ),
    "scales of the inner axis": ((4, 3), 0, "v = Reshape(d, turned)", "y = MatMul(x, v)", "[2,3]", "[2,4]"),
    "scales along no axis": ((4, 3), 0, "v = Reshape(d, thirds)", "y = Add(x, v)", "[2,3,2]", "[2,3,2]"),
    "sum of an image": ((4,), 0, "v = Reshape(d, channels)", "y = Add(x, v)", "[1,4,3,3]", "[1,4,3,3]"),
    "outputs": ((4, 3, 1), 0, "y = Flatten(d) v = Reshape(d, thirds)", "z = Add(x, v)", "[2,3,2]", "[4,3]"),
}
VIEWS = {
    "two": [2, 3],
    "zero": [0],
    "last": [3],
    "eight": [8, 1, 3, 3],
    "turned": [3, 4],
    "thirds": [2, 3, 2],
    "channels": [1, 4, 1, 1],
}


@pytest.mark.parametrize("point", [0, 5])
@pytest.mark.parametrize("name", SCALED_CONSTANTS)
def test_a_view_of_a_constant_with_several_scales_is_a_constant(name, point):
    dims, axis, seen, reader, given, result = SCALED_CONSTANTS[name]
    constants = {"c": RANDOM.integers(-90, 91, dims).astype(BYTE), "sc": NUMBERS["sw"], "zc": numpy.full(4, point, BYTE)}
    text = f"d = DequantizeLinear<axis = {axis}>(c, sc, zc) {seen} {reader}"
    constants |= {key: numpy.array(value) for key, value in VIEWS.items() if f", {key})" in text}
    more = f", float{given} z" if "z =" in text else ""
    words = {"inputs": f"float{given} x", "outputs": f"float{result} y{more}", "constants": constants}
    before = graph(text, **words)
    after = simplify(before)
    assert not {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "DequantizeLinear"} & set(types(after))
    assert same_meaning(before, after)
    assert program_of(model(text, **words), "net.onnx", load_board("host")).layers


@pytest.mark.parametrize("seed", range(60))
def test_a_view_of_a_constant_with_a_scale_for_each_channel_keeps_its_integers_where_an_axis_still_has_the_scales(seed):
    random = numpy.random.default_rng(seed)
    dims = tuple(int(random.choice((1, 2, 3, 4, 6))) for _ in range(random.integers(2, 4)))
    axis = int(random.integers(len(dims)))
    quantization = Quantization(tuple((1 + numpy.arange(dims[axis])) / 8), tuple(range(dims[axis])), axis)
    source = Tensor("w", dims, DType.int8, random.integers(-128, 128, dims).astype(BYTE), quantization)
    if seed % 3:
        factors = [int(random.choice([each for each in (1, 2, 3, size) if size % each == 0])) for size in dims]
        split = [part for size, factor in zip(dims, factors) for part in (factor, size // factor)]
        joined = int(random.integers(len(split) - 1))
        operator = Reshape((*split[:joined], split[joined] * split[joined + 1], *split[joined + 2 :]))
    else:
        operator = Transpose(tuple(map(int, random.permutation(len(dims)))))
    seen = _seen(Node("view", operator, ("w",), ("seen",)), source)
    real = seen.data if seen.quantization is None else dequantize_linear(seen.data, seen.quantization)
    assert seen.dims == seen.data.shape == real.shape
    assert numpy.array_equal(real, operator.forward(dequantize_linear(source.data, quantization)))
    along = [dims[axis] if place == axis else 1 for place in range(len(dims))]
    scales = operator.forward(numpy.broadcast_to(numpy.reshape(quantization.scales, along), dims).copy())
    each = [numpy.moveaxis(scales, place, 0).reshape(size, -1) for place, size in enumerate(scales.shape)]
    kept = [(one == one[:, :1]).all() and bool((numpy.diff(one[:, 0]) >= 0).all()) for one in each]
    assert (seen.dtype is DType.int8) == any(kept) or dims[axis] == 1
