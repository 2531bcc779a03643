# SPDX-License-Identifier: MIT
"""Layers are judged on what the firmware itself computed before them."""

from __future__ import annotations

import numpy

from aidge_build.run.verify.compare import first_difference
from aidge_build.run.verify.layers import meanings
from tests.models import graph

VIEW = graph(
    "a = Mul(x, x) q = QuantizeLinear(a, s, z) f = Flatten(q) d = DequantizeLinear(f, s, z) y = Neg(d)",
    inputs="float[1,2] x",
    outputs="float[1,2] y",
    constants={"s": numpy.float32(1), "z": numpy.int8(0)},
)
X = {"x": numpy.array([[[1.5811388, 2]]], numpy.float32)}  # the first square lies between 2.5 and the number below it


def traced(square: float, level: int) -> dict[str, numpy.ndarray]:
    floats = {"a": [[[square, 4]]], "d": [[[level, 4]]], "y": [[[-level, -4]]]}
    found = {name: numpy.array(values, numpy.float32) for name, values in floats.items()}
    return {**found, "q": numpy.array([[[level, 4]]], numpy.int8)}


def first(trace):
    return first_difference(list(trace), trace, meanings(VIEW, X, trace))


def test_a_level_that_follows_from_a_float_in_the_last_place_is_no_difference():
    assert first(traced(2.5, 2)) is None and first(traced(float(numpy.nextafter(numpy.float32(2.5), 3)), 3)) is None


def test_the_layer_that_is_wrong_is_found_and_those_behind_it_are_not_blamed():
    assert first(traced(2.5, 3))["tensor"] == "q"
    wrong = traced(2.5, 2)
    wrong["d"] = wrong["d"] + 1
    assert first(wrong)["tensor"] == "d"
    assert first({"y": wrong["y"], **wrong})["tensor"] == "y", "it does not follow from d"
