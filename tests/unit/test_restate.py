# SPDX-License-Identifier: MIT
"""Tensors that are written by one scale and read by another: each layer still computes on stored values."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.restate import restate
from tests.models import graph, same_meaning, types

F, BYTE = numpy.float32, numpy.int8
RANDOM = numpy.random.default_rng(5)


def network(middle: str, factor: float):
    """Two convolutions; what lies between them reads scale `s2`, which is `factor` times that of what wrote it."""
    return graph(
        f"""r = DequantizeLinear(x, s0, z) v = DequantizeLinear(w, sw, z0) a = Conv(r, v) q = QuantizeLinear(a, s1, z)
        {middle} c = Conv(t, v) y = QuantizeLinear(c, s1, z)""",
        inputs="int8[1,2,8,8] x",
        outputs="int8[1,2,?,?] y",
        constants={
            "s0": F(0.031),
            "s1": F(0.0517),
            "s2": F(0.0517 * factor),
            "sw": F(0.0113),
            "z": BYTE(3),
            "z0": BYTE(0),
            "w": RANDOM.integers(-127, 128, (2, 2, 2, 2)).astype(BYTE),
        },
    )


@pytest.mark.parametrize("factor", [1 + 1e-6, 1 - 1e-4, 1.5])
def test_a_reader_with_a_scale_of_its_own_gets_a_name_of_its_own(factor):
    before = network("t = DequantizeLinear(q, s2, z)", factor)
    after = simplify(before)
    assert types(after) == ["Conv2D", "Restated", "Conv2D"] and same_meaning(before, after)


def test_two_readers_with_one_scale_share_the_name():
    before = network("t1 = DequantizeLinear(q, s2, z) t2 = DequantizeLinear(q, s2, z) t = Max(t1, t2)", 1.25)
    after = restate(before)
    assert types(after).count("Restated") == 1 and same_meaning(before, after)


@pytest.mark.parametrize("factor, gives_back", [(1 + 1e-5, True), (1 - 1e-3, True), (1.02, False)])
def test_a_selection_between_scales_selects_stored_values_and_computes_only_where_they_change(factor, gives_back):
    middle = """u = DequantizeLinear(q, s1, z) m = MaxPool<kernel_shape=[2,2]>(u) p = QuantizeLinear(m, s2, z)
    t = DequantizeLinear(p, s2, z)"""
    before = network(middle, factor)
    after = simplify(before)
    assert same_meaning(before, after)
    (pool,) = [node for node in after.nodes if node.type == "MaxPooling2D"]
    source, result = after.tensor(pool.inputs[0]), after.tensor(pool.outputs[0])
    assert source.quantization == result.quantization is not None
    assert ("Restated" in types(after), "Table" in types(after)) == (gives_back, not gives_back)


def test_views_of_stored_values_before_another_scale_are_accepted():
    before = graph(
        """q = QuantizeLinear(x, s1, z) f = Flatten(q) r = DequantizeLinear(f, s2, z) v = DequantizeLinear(w, sw, z0)
        a = MatMul(r, v) y = QuantizeLinear(a, s1, z)""",
        inputs="float[1,2,3] x",
        outputs="int8[1,4] y",
        constants={
            "s1": F(0.05),
            "s2": F(0.05001),
            "z": BYTE(3),
            "z0": BYTE(0),
            "sw": F(0.01),
            "w": RANDOM.integers(-127, 128, (6, 4)).astype(BYTE),
        },
    )
    after = simplify(before)
    assert "FC" in types(after) and "DequantizeLinear" not in types(after) and same_meaning(before, after)


def test_one_statement_for_all_changes_nothing():
    before = network("t = DequantizeLinear(q, s1, z)", 1.0)
    assert restate(before) is before
