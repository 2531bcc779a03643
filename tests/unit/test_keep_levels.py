# SPDX-License-Identifier: MIT
"""What stands between a DequantizeLinear and a layer is computed on stored values where its results are such, and named where
they are not."""

from __future__ import annotations

import re

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.library import Library
from aidge_build.graph.dtype import DType
from aidge_build.prepare.adaptation.float_layers import _cost
from aidge_build.prepare.adaptation.match import Target
from aidge_build.prepare.recipes import simplify
from tests.compiled import program_of
from tests.models import graph, model, same_meaning, types

F = numpy.float32
CONSTANTS = {
    "s": F(0.05),
    "z": numpy.int8(-3),
    "t": F(0.07),
    "w": numpy.random.default_rng(5).integers(-127, 128, (4, 6, 3, 3)).astype(numpy.int8),
    "sw": F(0.0137),
    "zw": numpy.int8(0),
    "sy": F(0.2311),
    "zy": numpy.int8(5),
    "halves": numpy.array([3, 3]),
    "twice": numpy.array([1, 1, 2, 2], F),
    "begin": numpy.array([0, 0, 1, 0, 0, 0, 0, 1]),
    "five": F(0.25),
    "on": F(-0.25),
    "off": F(0.33),
    "low": F(-1.0),
    "six": F(6.0),
    "shape": numpy.array([1, 6, 4, 2, 4, 2]),
    "back": numpy.array([4, 6, 4, 4]),
}
EXACT = {
    "Relu": "m = Relu(r)",
    "Clip with bounds that are levels": "m = Clip(r, low, six)",
    "Max with a level": "m = Max(r, five)",
    "the larger of two": "m = Max(r, q)",
    "Concat": "a, b = Split<axis=1>(r, halves) m = Concat<axis=1>(b, a)",
    "Concat of two tensors": "m = Concat<axis=3>(r, q)",
    "Resize": 'm = Resize<mode="nearest">(r, , twice)',
    "Pad with a level": "m = Pad(r, begin, five)",
    "Pad by reflection": 'm = Pad<mode="reflect">(r, begin)',
    "Relu, Pad, MaxPool": "a = Relu(r) b = Pad(a, begin, five) m = MaxPool<kernel_shape=[2,2]>(b)",
    "space to batch": "a = Pad(r, begin, on) b = Slice(a, zero, eight, axes) c = Reshape(b, shape) "
    "d = Transpose<perm=[3,5,0,1,2,4]>(c) m = Reshape(d, back)",
}
CONSTANTS |= {"zero": numpy.array([0, 0]), "eight": numpy.array([8, 8]), "axes": numpy.array([2, 3])}
INEXACT = {
    "Concat": "a, b = Split<axis=1>(r, halves) c, d = Split<axis=1>(p, halves) m = Concat<axis=1>(a, d)",
    "AveragePool": "m = AveragePool<kernel_shape=[2,2]>(r)",
    "Add": "m = Add(r, q)",
    "LeakyRelu": "m = LeakyRelu<alpha=0.1>(r)",
    "Clip": "m = Clip(r, low, off)",
    "Pad": "a = Pad(r, begin, off) m = Relu(a)",
}


DIMS = {
    "Concat of two tensors": "1,4,6,14",
    "Resize": "1,4,14,14",
    "Pad with a level": "1,4,7,7",
    "Pad by reflection": "1,4,7,7",
    "space to batch": "4,4,2,2",
    "AveragePool": "1,4,5,5",
    "Pad": "1,4,7,7",
}


def parts(nodes: str, kind: str = "int8", end: str = "y = QuantizeLinear(conv, sy, zy)") -> dict:
    shift = 128 if kind == "uint8" else 0
    text = "r = DequantizeLinear(x, s, z) q = DequantizeLinear(u, s, z) p = DequantizeLinear(v, t, z) "
    constants = {**CONSTANTS, "z": numpy.array(-3 + shift, kind)}
    used = {word.strip("(),") for word in f"{text} {nodes} {end} w sw zw".replace("(", " ").split()}
    inputs = [f"{kind}[1,6,8,8] {name}" for name in "xuv"]
    return {
        "text": f"{text}{nodes} wf = DequantizeLinear(w, sw, zw) conv = Conv(m, wf) {end}",
        "inputs": ", ".join(inputs),
        "constants": {name: value for name, value in constants.items() if name in used},
    }


def outputs(name: str, kind: str = "int8") -> str:
    return f"{kind}[{DIMS.get(name, '1,4,6,6')}] y"


def floats(view) -> list[str]:
    return [name for name, tensor in view.tensors.items() if tensor.dtype is DType.float32 and not tensor.is_constant]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("kind", ("int8", "uint8"))
def test_a_layer_behind_operators_that_give_stored_values_computes_on_bytes(name, kind):
    given = parts(EXACT[name], kind)
    before = graph(given.pop("text"), outputs=outputs(name), **given)
    after = simplify(before)
    assert floats(after) == [] and "Conv2D" in types(after)
    assert same_meaning(before, after)


def test_so_does_a_layer_whose_result_stays_a_float_and_a_graph_output_keeps_its_values():
    given = parts("m = Relu(r)", end="y = Sigmoid(conv)")
    before = graph(given.pop("text"), outputs="float[1,4,6,6] y, float[1,6,8,8] m", **given)
    after = simplify(before)
    assert "DynamicConv" in types(after) and same_meaning(before, after, relative=1e-5)


def test_nothing_is_quantized_for_a_layer_of_float_weights():
    before = graph(
        "r = DequantizeLinear(x, s, z) m = Relu(r) y = Conv(m, w)",
        inputs="int8[1,6,8,8] x",
        outputs="float[1,4,6,6] y",
        constants={"s": F(0.05), "z": numpy.int8(-3), "w": numpy.random.default_rng(5).normal(size=(4, 6, 3, 3)).astype(F)},
    )
    assert "QuantizeLinear" not in types(simplify(before)) and "Conv2D" in types(simplify(before))


COSTS = {"mps2-an386": 1.2, "rp2040": 20}  # times as many instructions


def said(text: str, outputs: str, board: str, **keywords) -> list[str]:
    made = program_of(model(text, outputs=outputs, **keywords), "net.onnx", load_board(board))
    return [line for line in made.notices if "add QuantizeLinear and DequantizeLinear after" in line]


@pytest.mark.parametrize("name", INEXACT)
def test_an_operator_that_makes_other_numbers_is_named_with_what_it_costs(name):
    given = parts(INEXACT[name])
    for board, cost in COSTS.items():
        (line,) = said(given["text"], outputs(name), board, inputs=given["inputs"], constants=given["constants"])
        assert line.startswith("1 layer computes in float32") and f"after {'Relu_4' if name == 'Pad' else name}" in line
        factor, less = map(float, re.search(r"about ([\d,]+) instead of ([\d,]+) inst", line.replace(",", "")).groups())
        assert factor / less > cost


def test_nothing_is_said_where_a_layer_computes_on_bytes():
    given = parts(EXACT["Relu"])
    assert said(given.pop("text"), outputs("Relu"), "rp2040", **given) == []


@pytest.mark.parametrize(
    "nodes, behind",
    [
        ("g = Cast<to=1>(h) m = Add(r, g)", ""),  # with floats that no DequantizeLinear made
        ("g = Cast<to=1>(i) m = Sigmoid(g)", ""),
        ("m = Add(r, f)", ""),  # with an input of the network
        ("c = Conv(f, wf) d = Sigmoid(c) m = Add(d, r)", ""),  # behind a layer that computes in float32 anyway
        ("a = LeakyRelu(r) m = Add(a, five)", "Add_3"),
        ("a = Add(r, q) m = Sub(gains, a)", "Sub_4"),
        ("a = LeakyRelu(r) b = Reshape(a, flat) m = Reshape(b, whole)", "LeakyRelu_2"),
        ("a = LeakyRelu(r) b = Transpose<perm=[0,1,3,2]>(a) m = Identity(b)", "LeakyRelu_2"),
        ("c = Conv(r, wf) m = LeakyRelu(c)", "LeakyRelu_3"),  # the convolution itself computes on bytes
        ("a = LeakyRelu(r) c = Conv(a, wf) m = LeakyRelu(c)", "LeakyRelu_2"),  # the second convolution waits for the first
        ("a = Add(r, q) b = LeakyRelu(a) c = Sigmoid(a) d = Add(b, c) m = Add(d, a)", "Add_7"),
    ],
)
def test_a_layer_is_named_with_the_operator_behind_which_its_stored_values_end(nodes, behind):
    dims = "[1,6,8,8]"
    text = "wf = DequantizeLinear(w, sw, zw) r = DequantizeLinear(x, s, z) "
    text += (
        f"{'q = DequantizeLinear(u, s, z) ' if 'q)' in nodes else ''}{nodes} conv = Conv(m, wf) y = QuantizeLinear(conv, sy, zy)"
    )
    square = numpy.random.default_rng(5).integers(-127, 128, (6, 6, 1, 1)).astype(numpy.int8)
    constants = CONSTANTS | {"w": square, "flat": numpy.array([1, 384]), "whole": numpy.array([1, 6, 8, 8])}
    constants["gains"] = numpy.random.default_rng(6).normal(size=(8, 1)).astype(F)
    words = set(re.findall(r"\w+", text))
    kinds = {"x": "int8", "u": "int8", "f": "float", "h": "float16", "i": "int32"}
    lines = said(
        text,
        f"int8{dims} y",
        "rp2040",
        inputs=", ".join(f"{kind}{dims} {name}" for name, kind in kinds.items() if name in words),
        constants={name: value for name, value in constants.items() if name in words},
    )
    assert len(lines) == bool(behind) and all("1 layer computes in float32" in line for line in lines)
    assert all(f"after {behind};" in line for line in lines)


@pytest.mark.parametrize(
    "stated, features, cost",
    [
        ([{"int8": 0.5, "float32": 2}], {"fpu"}, "1,000 instead of 250"),
        ([{"int8": 0.5}, {"int8": 5, "float32": 4}], {"fpu"}, "2,000 instead of 250"),  # each from the first that states it
        ([{"int8": 0.5, "float32": 2, "float32_soft": 70}], set(), "35,000 instead of 250"),
        ([{"int8": 0.5, "float32": 2}], set(), ""),
        ([{"float32": 2}], {"fpu"}, ""),
        ([{"int8": 0.5}], {"fpu"}, ""),
        ([], {"fpu"}, ""),
    ],
)
def test_the_cost_of_floats_is_stated_where_libraries_state_both(stated, features, cost):
    libraries = [Library("toy", "c", "", {}, (), (), per_mac=one) for one in stated]
    said = f"; about {cost} instructions, and weights four times as large" if cost else ""
    assert _cost(500, libraries, Target(frozenset(features))) == said
    assert _cost(0, libraries, Target(frozenset(features))) == ""
