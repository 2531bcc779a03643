# SPDX-License-Identifier: MIT
"""ArgMax and ArgMin search among stored values where these are in the order of the real ones."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.recipes import simplify
from tests.models import graph, same_meaning, types


def searched(operator, scale=0.1, dtype="int8"):
    return graph(
        f"d = DequantizeLinear<axis=1>(x, s, z) y = {operator}(d)",
        inputs=f"{dtype}[1,5,2,3] x",
        outputs="int64[?,?,?,?] y",
        constants={"s": numpy.float32(scale), "z": numpy.full(numpy.shape(scale), 7, dtype)},
    )


@pytest.mark.parametrize("operator", ["ArgMax<axis=1>", "ArgMin<axis=2, select_last_index=1>"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_index_is_searched_among_stored_values(operator, dtype):
    before = searched(operator, dtype=dtype)
    after = simplify(before)
    assert types(after) == [operator[:6]]
    assert same_meaning(before, after)


@pytest.mark.parametrize("scale", [3e36, (0.1, 0.1, 0.1, 0.1, 0.2)], ids=["infinite", "channels"])
def test_not_where_real_values_of_two_stored_ones_are_equal_or_have_scales_of_their_own(scale):
    assert "DequantizeLinear" in types(simplify(searched("ArgMax<axis=1>", scale)))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_search_among_what_a_qoperator_layer_stores_leaves_the_layer_on_bytes(dtype):
    before = graph(
        "q = QuantizeLinear(x, s, z) a = QLinearConv(q, s, z, w, s, w0, s, z) y = ArgMax<axis=1>(a)",
        inputs="float[1,2,3,3] x",
        outputs="int64[?,?,?,?] y",
        constants={
            "s": numpy.float32(0.1),
            "z": numpy.array(7, dtype),
            "w": numpy.int8([[3, -4], [5, 6], [-7, 2]]).reshape(3, 2, 1, 1),
            "w0": numpy.int8(0),
        },
    )
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", "Conv2D", "ArgMax"]
    assert same_meaning(before, after)
