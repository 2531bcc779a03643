# SPDX-License-Identifier: MIT
"""Operators that move elements of quantized constants run while generating, and layers keep their integer weights."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.recipes import simplify
from tests.models import graph, same_meaning, types

RANDOM = numpy.random.default_rng(21)
ONE, OTHER = numpy.float32([0.05]), numpy.float32([0.08])
MANY = numpy.float32([0.05, 0.02, 0.07, 0.04])
LEVELS = RANDOM.integers(-100, 100, (4, 6)).astype(numpy.int8)
MORE = RANDOM.integers(-100, 100, (4, 6)).astype(numpy.int8)
NUMBERS = {
    "a": numpy.array([0, 1]),
    "b": numpy.array([4, 4]),
    "rows": numpy.array([1, 0]),
    "half": numpy.array([4, 6]),
    "i": numpy.array([2, 0, 3]),
    "twice": numpy.array([2, 1]),
    "often": numpy.array([9, 1]),
    "pads": numpy.array([1, 0, 0, 2]),
    "one": numpy.float32(0.3),
}
# What makes the weights of w and v, and their dims.
MOVES = {
    "a part of the rows": ("m = Slice(w, rows, half)", (3, 6)),
    "a part of the columns": ("m = Slice(w, a, b)", (4, 3)),
    "pieces": ("m, rest = Split<axis=0, num_outputs=2>(w)", (2, 6)),
    "rows": ("m = Gather<axis=0>(w, i)", (3, 6)),
    "columns": ("m = Gather<axis=1>(w, i)", (4, 3)),
    "rows of two": ("m = Concat<axis=0>(w, v)", (8, 6)),
    "columns of two": ("m = Concat<axis=1>(w, v)", (4, 12)),
    "copies": ("m = Tile(w, twice)", (8, 6)),
    "zeros around": ("m = Pad(w, pads)", (5, 8)),
    "a chain": ("c = Concat<axis=0>(w, v) t = Transpose(c) m = Gather<axis=1>(t, i)", (6, 3)),
}


def layer(text, dims, scales, others, points=0):
    zeros = [numpy.full(values.shape, points, numpy.int8) for values in (scales, others)]
    shapes = [values.reshape(-1) if values.size > 1 else values.reshape(()) for values in (scales, others, *zeros)]
    constants = {
        "lw": LEVELS,
        "lv": MORE,
        **dict(zip(("sw", "sv", "zw", "zv"), shapes)),
        "s": numpy.float32(0.1),
        "z": numpy.int8(3),
    }
    before = "xd = DequantizeLinear(x, s, z) w = DequantizeLinear<axis=0>(lw, sw, zw) v = DequantizeLinear<axis=0>(lv, sv, zv) "
    behind = " g = Gemm<transB=1>(xd, m) y = QuantizeLinear(g, s, z)"
    used = {
        name: value
        for name, value in (constants | NUMBERS).items()
        if name in (before + text + behind).replace("(", " ").replace(")", " ").replace(",", " ").split()
    }
    return graph(before + text + behind, inputs=f"int8[2,{dims[1]}] x", outputs=f"int8[2,{dims[0]}] y", constants=used, opset=18)


@pytest.mark.parametrize("scales, others", [(ONE, ONE), (MANY, MANY[::-1].copy()), (ONE, OTHER)], ids=["one", "rows", "two"])
@pytest.mark.parametrize("name", MOVES)
def test_moved_elements_of_quantized_constants_are_constants_of_the_same_values(name, scales, others):
    text, dims = MOVES[name]
    before = layer(text, dims, scales, others)
    after = simplify(before)
    assert not {"Slice", "Split", "Gather", "Concat", "Tile", "Pad", "Transpose"} & set(types(after))
    assert same_meaning(before, after)


@pytest.mark.parametrize("name", ["a part of the rows", "columns", "rows of two", "copies"])
def test_a_layer_behind_them_keeps_integer_weights(name):
    text, dims = MOVES[name]
    after = simplify(layer(text, dims, MANY, MANY))
    (fc,) = [node for node in after.nodes if node.type == "FC"]
    assert types(after) == ["FC"] and after.tensor(fc.inputs[1]).dtype.name == "int8"


def test_copies_that_would_be_much_larger_are_left_to_the_model():
    before = layer("m = Tile(w, often)", (36, 6), MANY, MANY)
    assert "Tile" in types(simplify(before)) and same_meaning(before, simplify(before))


def test_a_border_without_a_stored_value_makes_a_constant_of_real_values():
    before = layer("m = Pad(w, pads, one)", (5, 8), MANY, MANY)
    assert "Pad" not in types(simplify(before)) and same_meaning(before, simplify(before))
