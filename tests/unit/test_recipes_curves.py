# SPDX-License-Identifier: MIT
"""Functions that exporters write in several nodes get their name, where nothing else reads what lies in between."""

from __future__ import annotations

import re

import numpy
import pytest

from aidge_build.prepare.recipes.name_curves import name_curves
from tests.models import graph, same_meaning, types

GELUS = [
    "d = Div(x, r) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, half)",
    "d = Mul(x, s) e = Erf(d) a = Add(one, e) m = Mul(half, a) y = Mul(m, x)",
    "d = Div(x, r) e = Erf(d) a = Add(e, one) h = Mul(x, half) y = Mul(h, a)",
]
CUBE, ROOT = "p = Pow(x, three) c = Mul(p, cubic) i = Add(x, c)", "v = Mul(i, root) t = Tanh(v) a = Add(t, one)"
BY_TANH = [
    f"{CUBE} {ROOT} h = Mul(x, half) y = Mul(h, a)",
    f"q = Mul(x, x) p = Mul(q, x) c = Mul(p, cubic) i = Add(c, x) {ROOT} h = Mul(a, half) y = Mul(h, x)",
    "q = Mul(x, x) c = Mul(cubic, q) i = Add(c, one) w = Mul(x, root) v = Mul(w, i) t = Tanh(v) a = Add(one, t) m = Mul(x, a) "
    "y = Mul(m, half)",
]
OTHERS = [
    f"p = Pow(x, three) c = Mul(p, half) i = Add(x, c) {ROOT} h = Mul(x, half) y = Mul(h, a)",
    f"{CUBE} {ROOT} m = Mul(i, a) y = Mul(m, half)",
    f"{CUBE} {ROOT} h = Mul(x, half) m = Mul(h, a) y = Add(m, p)",
    "d = Div(x, one) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, half)",
    "d = Div(x, r) e = Erf(d) a = Add(e, half) m = Mul(x, a) y = Mul(m, half)",
    "d = Div(x, r) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, x)",
    "d = Div(x, r) e = Erf(d) a = Add(e, one) m = Mul(x, a) h = Mul(m, half) y = Add(h, e)",
]


_NUMBERS = {"r": 2**0.5, "s": 0.5**0.5, "one": 1, "half": 0.5, "three": 3, "cubic": 0.044715, "root": (2 / numpy.pi) ** 0.5}
_NUMBERS["steep"] = 1.702
CONSTANTS = {name: numpy.float32(value) for name, value in _NUMBERS.items()}


def view(nodes: str):
    used = {name: value for name, value in CONSTANTS.items() if re.search(rf"\b{name}\b", nodes)}
    return graph(nodes, inputs="float[2,5] x", outputs="float[2,5] y", constants=used)


@pytest.mark.parametrize("nodes", GELUS)
def test_five_nodes_are_a_gelu(nodes):
    before = view(nodes)
    after = name_curves(before)
    assert types(after) == ["Gelu"]
    assert same_meaning(before, after, relative=1e-6)


@pytest.mark.parametrize("nodes", BY_TANH)
def test_a_gelu_by_tanh_has_its_name_however_its_polynomial_is_written(nodes):
    before = view(nodes)
    after = name_curves(before)
    assert [(node.type, node.operator.with_tanh) for node in after.nodes] == [("Gelu", True)]
    assert same_meaning(before, after, relative=1e-6)


@pytest.mark.parametrize("nodes", ["g = Sigmoid(x) y = Mul(g, x)", "b = Mul(steep, x) g = Sigmoid(b) y = Mul(x, g)"])
def test_a_value_times_its_sigmoid_is_a_swish(nodes):
    before = view(nodes)
    after = name_curves(before)
    assert types(after) == ["Swish"]
    assert same_meaning(before, after, relative=1e-6)


@pytest.mark.parametrize(
    "nodes",
    [
        *OTHERS,
        "g = Sigmoid(x) y = Mul(g, g)",
        "g = Sigmoid(x) m = Mul(x, g) y = Add(m, g)",
        "b = Mul(steep, x) g = Sigmoid(b) m = Mul(x, g) y = Add(m, b)",
    ],
)
def test_what_only_looks_like_it_stays(nodes):
    before = view(nodes)
    assert types(name_curves(before)) == types(before)
