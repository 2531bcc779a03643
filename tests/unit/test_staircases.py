# SPDX-License-Identifier: MIT
"""Functions behind a layer of stored bytes, up to a QuantizeLinear, become steps; weights and what is stored between layers stay
bytes."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.prepare.recipes import simplify
from tests.models import graph, types

F = numpy.float32
RANDOM = numpy.random.default_rng(8)
CONSTANTS = {
    "sx": F(0.05),
    "zx": numpy.int8(-7),
    "w": RANDOM.integers(-128, 128, (6, 3, 3, 3)).astype(numpy.int8),
    "sw": F([0.01, 0.002, 0.003, 0.005, 0.001, 0.007]),
    "zw": numpy.zeros(6, numpy.int8),
    "b": RANDOM.normal(0, 1, 6).astype(F),
    "sy": F(0.043),
    "zy": numpy.int8(-90),
    "s1": F(0.0041),
    "z1": numpy.int8(-127),
    "root": F(1.41421356),
    "one": F(1),
    "half": F(0.5),
    "three": F(3),
    "sixth": F(1 / 6),
    "low": F(0),
    "six": F(6),
    "vector": F([[[1]], [[2]], [[3]], [[4]], [[5]], [[6]]]),
}
LAYER = "r = DequantizeLinear(x, sx, zx) wf = DequantizeLinear<axis=0>(w, sw, zw) c = Conv(r, wf, b)"
WRITE = "y = QuantizeLinear(f, sy, zy)"
CHAINS = {
    "HardSwish": "f = HardSwish(c)",
    "SiLU": "s = Sigmoid(c) f = Mul(c, s)",
    "SiLU with quantizations": "s = Sigmoid(c) q = QuantizeLinear(s, s1, z1) t = DequantizeLinear(q, s1, z1) f = Mul(c, t)",
    "GELU": "a = Div(c, root) e = Erf(a) d = Add(e, one) m = Mul(c, d) f = Mul(m, half)",
    "HardSwish of five": "a = Add(c, three) k = Clip(a, low, six) m = Mul(c, k) f = Mul(m, sixth)",
    "Tanh": "f = Tanh(c)",
}


def made(nodes, output="int8[2,6,7,5] y", inputs="int8[2,3,9,7] x"):
    return graph(nodes, inputs=inputs, outputs=output, constants=CONSTANTS)


def some_data(view):
    return {name: RANDOM.integers(-128, 128, view.tensor(name).dims).astype(numpy.int8) for name in view.inputs}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_function_of_the_sums_is_a_staircase_with_the_values_of_the_float_nodes(chain):
    before = made(f"{LAYER} {CHAINS[chain]} {WRITE}")
    after = simplify(before)
    assert types(after) == ["DynamicConv", "Staircase"]
    values = some_data(before)
    meant, found = cpu.run(before, values)["y"], cpu.run(after, values)["y"]
    assert (meant == found).all() and len(set(found.ravel().tolist())) > 20
    assert {part.split("_")[0] for part in after.nodes[1].origin} >= {"QuantizeLinear"}


def test_a_staircase_between_two_layers_hands_on_bytes():
    second = "g = DequantizeLinear(y, sy, zy) vf = DequantizeLinear<axis=0>(v, sw, zw) o = Conv(g, vf)"
    text = f"{LAYER} f = HardSwish(c) {WRITE} {second} p = QuantizeLinear(o, sy, zy)"
    view = graph(
        text,
        inputs="int8[2,3,9,7] x",
        outputs="int8[2,6,7,5] p",
        constants={**CONSTANTS, "v": RANDOM.integers(-9, 9, (6, 6, 1, 1)).astype(numpy.int8)},
    )
    after = simplify(view)
    assert types(after) == ["DynamicConv", "Staircase", "Conv2D"]
    assert [after.tensor(node.outputs[0]).dtype for node in after.nodes] == [DType.float32, DType.int8, DType.int8]
    values = some_data(view)
    assert (numpy.abs(cpu.run(view, values)["p"].astype(int) - cpu.run(after, values)["p"]) <= 1).all()


def test_what_is_read_elsewhere_too_is_computed_beside_the_staircase():
    view = made(f"{LAYER} f = HardSwish(c) {WRITE} z = Sigmoid(f)", "int8[2,6,7,5] y, float[2,6,7,5] z")
    assert sorted(types(simplify(view))) == ["DynamicConv", "HardSwish", "Sigmoid", "Staircase"]


@pytest.mark.parametrize(
    "nodes, output",
    [
        (f"{LAYER} m = Max(c, vector) f = Tanh(m) {WRITE}", "int8[2,6,7,5] y"),
        (f"{LAYER} m = GlobalAveragePool(c) f = Tanh(m) {WRITE}", "int8[2,6,1,1] y"),
        (f"{LAYER} m = Sin(c) n = Mul(m, six) o = Exp(n) p = Sin(o) f = Mul(p, six) {WRITE}", "int8[2,6,7,5] y"),
        (f"{LAYER} f = Tanh(c) y = QuantizeLinear<axis=1>(f, sw, zw)", "int8[2,6,7,5] y"),
        (f"r = DequantizeLinear(x, sx, zx) a = Sigmoid(r) f = Softmax(a) {WRITE}", "int8[2,3,9,7] y"),
    ],
)
def test_functions_of_more_than_one_element_or_with_too_many_steps_are_none(nodes, output):
    assert "Staircase" not in types(simplify(made(nodes, output)))


@pytest.mark.parametrize("width, is_one", [(1, False), (2, False), (3, True)])
def test_few_values_call_the_functions(width, is_one):
    """6 * 5 * width values: 60 are too few."""
    dims = f"int8[1,3,7,{width + 2}] x", f"int8[1,6,5,{width}] y"
    assert ("Staircase" in types(simplify(made(f"{LAYER} f = HardSwish(c) {WRITE}", dims[1], dims[0])))) is is_one
