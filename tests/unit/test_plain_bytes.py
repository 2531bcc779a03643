# SPDX-License-Identifier: MIT
"""Operators that QOperator files leave on plain 8-bit integers, between layers that say what these mean."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.graph.view import GraphView
from aidge_build.recipes import simplify
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
