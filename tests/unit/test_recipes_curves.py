# SPDX-License-Identifier: MIT
"""Functions that exporters write in several nodes get their name, where nothing else reads what lies in between."""

from __future__ import annotations

import re

import numpy
import pytest

from aidge_build.recipes.name_curves import name_curves
from tests.models import graph, same_meaning, types

GELUS = [
    "d = Div(x, r) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, half)",
    "d = Mul(x, s) e = Erf(d) a = Add(one, e) m = Mul(half, a) y = Mul(m, x)",
    "d = Div(x, r) e = Erf(d) a = Add(e, one) h = Mul(x, half) y = Mul(h, a)",
]
OTHERS = [
    "d = Div(x, one) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, half)",
    "d = Div(x, r) e = Erf(d) a = Add(e, half) m = Mul(x, a) y = Mul(m, half)",
    "d = Div(x, r) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, x)",
    "d = Div(x, r) e = Erf(d) a = Add(e, one) m = Mul(x, a) h = Mul(m, half) y = Add(h, e)",
]


CONSTANTS = {name: numpy.float32(value) for name, value in {"r": 2**0.5, "s": 0.5**0.5, "one": 1, "half": 0.5}.items()}


def view(nodes: str):
    used = {name: value for name, value in CONSTANTS.items() if re.search(rf"\b{name}\b", nodes)}
    return graph(nodes, inputs="float[2,5] x", outputs="float[2,5] y", constants=used)


@pytest.mark.parametrize("nodes", GELUS)
def test_five_nodes_are_a_gelu(nodes):
    before = view(nodes)
    after = name_curves(before)
    assert types(after) == ["Gelu"]
    assert same_meaning(before, after, relative=1e-6)


def test_a_value_times_its_sigmoid_is_a_swish():
    before = view("g = Sigmoid(x) y = Mul(g, x)")
    after = name_curves(before)
    assert types(after) == ["Swish"]
    assert same_meaning(before, after, relative=1e-6)


@pytest.mark.parametrize("nodes", [*OTHERS, "g = Sigmoid(x) y = Mul(g, g)", "g = Sigmoid(x) m = Mul(x, g) y = Add(m, g)"])
def test_what_only_looks_like_it_stays(nodes):
    before = view(nodes)
    assert types(name_curves(before)) == types(before)
