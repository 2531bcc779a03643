# SPDX-License-Identifier: MIT
"""Operators between int8 and int8 of one variable become one table, and nothing else does."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.operators.table import Table
from aidge_build.prepare.recipes import simplify
from tests.models import graph, types

F, BYTE = numpy.float32, numpy.int8
NUMBERS = {
    "sx": F(0.05),
    "zx": BYTE(3),
    "s1": F(0.0041),
    "z1": BYTE(-127),
    "sy": F(0.043),
    "zy": BYTE(-9),
    "root": F(1.41421356),
    "one": F(1),
    "half": F(0.5),
    "three": numpy.array([3], F),
    "sixth": F(1 / 6),
    "cube": F(3),
    "c1": F(0.044715),
    "c2": F(0.79788456),
    "low": F(0),
    "six": F(6),
    "vector": numpy.linspace(0.5, 1, 16).astype(F),
}
READ, WRITE = "r = DequantizeLinear(x, sx, zx)", "y = QuantizeLinear(f, sy, zy)"
CHAINS = {
    "SiLU in float": "s = Sigmoid(r) f = Mul(r, s)",
    "SiLU with quantizations": "s = Sigmoid(r) q = QuantizeLinear(s, s1, z1) t = DequantizeLinear(q, s1, z1) f = Mul(r, t)",
    "GELU": "a = Div(r, root) b = Erf(a) c = Add(b, one) d = Mul(r, c) f = Mul(d, half)",
    "HardSwish of five": "a = Add(r, three) b = Clip(a, low, six) c = Mul(r, b) f = Mul(c, sixth)",
    "scale and shift": "a = Mul(r, root) f = Sub(three, a)",
    "GELU by tanh": "a = Pow(r, cube) b = Mul(a, c1) c = Add(r, b) d = Mul(c, c2) e = Tanh(d) g = Add(e, one) h = Mul(r, g) "
    "f = Mul(h, half)",
    "a power": "f = Pow(r, cube)",
    "extremes": "a = Max(r, half) f = Min(a, six)",
    "one slope": "f = PRelu(r, half)",
    "one product": "f = Mul(r, half)",
    "two functions": "a = Tanh(r) q = QuantizeLinear(a, s1, zx) t = DequantizeLinear(q, s1, zx) f = Abs(t)",
    "another scale": "f = Identity(r)",
}


def made(nodes, inputs="int8[1,1,16,16] x", outputs="int8[1,1,16,16] y"):
    names = {word.strip("(),") for word in nodes.replace("(", " ").split()}
    return graph(nodes, inputs=inputs, outputs=outputs, constants={name: NUMBERS[name] for name in NUMBERS if name in names})


def stored(view, name="y"):
    return cpu.run(view, {"x": numpy.arange(-128, 128).astype(BYTE).reshape(1, 1, 16, 16)})[name]


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_of_one_variable_is_one_table_with_the_same_values(chain):
    before = made(f"{READ} {CHAINS[chain]} {WRITE}")
    after = simplify(before)
    assert types(after) == ["Table"]
    assert (stored(after) == stored(before)).all() and len(set(stored(after).ravel().tolist())) > 5


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_that_ends_with_a_float_is_one_table_of_floats(chain):
    before = made(f"{READ} {CHAINS[chain]} y = Softplus(f)", outputs="float[1,1,16,16] y")
    after = simplify(before)
    assert types(after) == ["RealTable"]
    assert (stored(after) == stored(before)).all() and len(set(stored(after).ravel().tolist())) > 5


def test_few_floats_those_that_are_not_finite_and_a_dequantization_alone_are_no_table_of_floats():
    few = made(f"{READ} y = Softplus(r)", inputs="int8[1,1,15,17] x", outputs="float[1,1,15,17] y")
    assert types(simplify(few)) == ["DequantizeLinear", "Softplus"]
    assert types(simplify(made(f"{READ} y = Log(r)", outputs="float[1,1,16,16] y"))) == ["DequantizeLinear", "Log"]
    assert types(simplify(made(f"{READ} y = Identity(r)", outputs="float[1,1,16,16] y"))) == ["DequantizeLinear"]


def test_a_single_function_stays_as_it_is_called():
    assert types(simplify(made(f"{READ} f = Tanh(r) {WRITE}"))) == ["Tanh"]


def test_two_variables_are_no_table():
    before = made(
        f"{READ} u = DequantizeLinear(v, sx, zx) s = Sigmoid(r) f = Mul(u, s) {WRITE}",
        inputs="int8[1,1,16,16] x, int8[1,1,16,16] v",
    )
    assert "Table" not in types(simplify(before))


def test_a_factor_for_each_column_is_no_table():
    assert "Table" not in types(simplify(made(f"{READ} f = Mul(r, vector) {WRITE}")))


def test_a_value_that_is_an_output_too_stays():
    before = made(
        f"{READ} s = Sigmoid(r) q = QuantizeLinear(s, s1, z1) t = DequantizeLinear(q, s1, z1) f = Mul(r, t) {WRITE}",
        outputs="int8[1,1,16,16] y, int8[1,1,16,16] q",
    )
    after = simplify(before)
    assert sorted(types(after)) == ["Sigmoid", "Table"]
    assert (stored(after) == stored(before)).all() and (stored(after, "q") == stored(before, "q")).all()


def test_a_table_has_a_meaning_on_real_numbers():
    view = simplify(made(f"{READ} {CHAINS['GELU']} {WRITE}"))
    (node,) = view.nodes
    operator = node.operator
    assert isinstance(operator, Table)
    levels = numpy.arange(-128, 128)
    reals = operator.forward((levels - 3) * numpy.float64(F(0.05)))
    assert numpy.allclose(reals, (stored(view).ravel().astype(float) + 9) * 0.043)
    assert (operator.forward_quantized([levels.astype(BYTE)], [], [])[0] == stored(view).ravel()).all()
