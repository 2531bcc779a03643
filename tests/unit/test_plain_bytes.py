# SPDX-License-Identifier: MIT
"""Operators that QOperator files leave on plain 8-bit integers, between layers that say what these mean."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.graph.view import GraphView
from aidge_build.prepare.recipes import simplify
from tests.models import graph, same_meaning, types

BYTES = [numpy.int8, numpy.uint8]


def between_convolutions(dtype, text: str, **constants) -> GraphView:
    """Two convolutions by QLinearConv, and between their stored values a and r what `text` says."""
    return graph(
        f"""q = QuantizeLinear(x, s, z) a = QLinearConv(q, s, z, w, sw, w0, s, z) {text}
        o = QLinearConv(r, s, z, w, sw, w0, s, z) y = DequantizeLinear(o, s, z)""",
        inputs="float[1,4,6,6] x",
        outputs="float[1,4,?,?] y",
        constants={
            "s": numpy.float32(0.25),
            "z": dtype(-9 if dtype is numpy.int8 else 121),
            "w": (numpy.arange(-8, 8) * 9).astype(numpy.int8).reshape(4, 4, 1, 1),
            "sw": numpy.float32(0.02),
            "w0": numpy.int8(0),
            **constants,
        },
    )


@pytest.mark.parametrize("dtype", BYTES)
def test_elements_of_a_sum_of_plain_bytes_are_plain_bytes(dtype):
    before = between_convolutions(
        dtype,
        "p = Add(a, k) r = Slice(p, one, five, two)",
        k=dtype(3),
        one=numpy.array([1]),
        five=numpy.array([5]),
        two=numpy.array([2]),
    )
    after = simplify(before)
    assert "Slice" in types(after)
    assert same_meaning(before, after)


@pytest.mark.parametrize("dtype", BYTES)
def test_a_clip_of_what_a_qoperator_layer_stores_is_the_clamp_of_the_layer(dtype):
    zero_point = -9 if dtype is numpy.int8 else 121
    before = between_convolutions(dtype, "r = Clip(a, low, high)", low=dtype(zero_point), high=dtype(zero_point + 60))
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", "Conv2D", "Conv2D", "DequantizeLinear"]
    assert same_meaning(before, after)


SECOND = "b = QLinearConv(q, s, z, w, s, w0, s, z)"


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize(
    "text, made",
    [
        ("r = Max(a, k)", ["Conv2D", "Restated", "Table"]),
        (f"{SECOND} r = Min(a, b)", ["Conv2D", "Conv2D", "Restated", "Restated", "Min"]),
        (f"{SECOND} r = Concat<axis=2>(a, b)", ["Conv2D", "Conv2D", "Restated", "Restated", "Concat"]),
        ("r = Concat<axis=2>(a, a)", ["Conv2D", "Restated", "Concat"]),
        (
            f"{SECOND} p = Concat<axis=2>(a, b) r = Transpose<perm=[0,1,3,2]>(p)",
            ["Conv2D", "Conv2D", "Restated", "Restated", "Concat", "Transpose"],
        ),
    ],
)
def test_layers_on_both_sides_of_an_operator_on_plain_bytes_compute_on_bytes(text, made, dtype):
    before = between_convolutions(dtype, text, **({"k": dtype(3)} if "k" in text else {}))
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", *made, "Restated", "Conv2D", "DequantizeLinear"]
    assert same_meaning(before, after)


def test_layers_on_both_sides_of_a_relu_of_plain_bytes_compute_on_bytes():
    before = between_convolutions(numpy.int8, "r = Relu(a)")
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", "Conv2D", "Restated", "ReLU", "Restated", "Conv2D", "DequantizeLinear"]
    assert same_meaning(before, after)


def test_an_operator_on_plain_bytes_of_which_no_layer_says_what_they_mean_stays():
    before = graph("y = Max(x, k)", inputs="uint8[2,3] x", outputs="uint8[2,3] y", constants={"k": numpy.uint8(3)})
    assert types(simplify(before)) == ["Max"]
