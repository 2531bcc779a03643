# SPDX-License-Identifier: MIT
"""Functions that exporters write in several nodes get their name, where nothing else reads what lies in between."""

from __future__ import annotations

import re

import numpy
import pytest

from aidge_build.prepare.recipes.fuse_activations import fuse_activations
from aidge_build.prepare.recipes.name_curves import name_curves
from tests.models import graph, same_meaning, types
from tests.neighbours import changed, results, swapped

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
_NUMBERS = {"r": 2**0.5, "s": 0.5**0.5, "one": 1, "half": 0.5, "three": 3, "cubic": 0.044715, "root": (2 / numpy.pi) ** 0.5}
_NUMBERS["steep"] = 1.702
CONSTANTS = {name: numpy.float32(value) for name, value in _NUMBERS.items()}


CONSTANTS["near"] = numpy.float32(0.5001)
SWISHES = ["g = Sigmoid(x) y = Mul(g, x)", "b = Mul(steep, x) g = Sigmoid(b) y = Mul(x, g)"]


def view(nodes: str, *more: str):
    used = {name: value for name, value in CONSTANTS.items() if re.search(rf"\b{name}\b", nodes)}
    outputs = ", ".join(f"float[2,5] {name}" for name in ("y", *more))
    return graph(nodes, inputs="float[2,5] x", outputs=outputs, constants=used)


@pytest.mark.parametrize(("name", "spellings"), [("Gelu", GELUS), ("Gelu", BY_TANH), ("Swish", SWISHES)])
def test_a_curve_has_its_name_however_it_is_written(name, spellings):
    for nodes in (other for spelling in spellings for other in (spelling, *swapped(spelling))):
        before = view(nodes)
        after = name_curves(before)
        assert types(after) == [name], nodes
        assert getattr(after.nodes[0].operator, "with_tanh", False) == (spellings is BY_TANH)
        assert same_meaning(before, after, relative=1e-6), nodes


@pytest.mark.parametrize("nodes", [*GELUS, *BY_TANH, *SWISHES])
def test_what_only_looks_like_a_curve_keeps_its_meaning(nodes):
    for other in changed(nodes, "x", "near", "one"):
        before = view(other)
        after = name_curves(before)
        assert after is before or same_meaning(before, after, relative=1e-6), other


@pytest.mark.parametrize("nodes", [*GELUS, *BY_TANH, *SWISHES])
def test_a_curve_with_a_result_in_between_that_others_read_stays(nodes):
    for name in results(nodes):
        before = view(nodes, name)
        assert name_curves(before) is before, name


def test_a_curve_of_doubles_and_one_with_a_clamp_inside_stay():
    nodes = GELUS[0]
    doubles = {name: numpy.float64(value) for name, value in CONSTANTS.items() if re.search(rf"\b{name}\b", nodes)}
    before = graph(nodes, inputs="double[2,5] x", outputs="double[2,5] y", constants=doubles)
    assert name_curves(before) is before
    before = fuse_activations(view("d = Div(x, r) e = Erf(d) a = Add(e, one) b = Relu(a) m = Mul(x, b) y = Mul(m, half)"))
    assert name_curves(before) is before
