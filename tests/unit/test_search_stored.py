# SPDX-License-Identifier: MIT
"""ArgMax and ArgMin search among stored values where these are in the order of the real ones."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.recipes import simplify
from tests.models import graph, same_meaning, types


def searched(operator, scale=0.1, dtype="int8"):
    return graph(
        f"d = DequantizeLinear(x, s, z) y = {operator}(d)",
        inputs=f"{dtype}[1,5,2,3] x",
        outputs="int64[?,?,?,?] y",
        constants={"s": numpy.float32(scale), "z": numpy.array(7, dtype)},
    )


@pytest.mark.parametrize("operator", ["ArgMax<axis=1>", "ArgMin<axis=2, select_last_index=1>"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_index_is_searched_among_stored_values(operator, dtype):
    before = searched(operator, dtype=dtype)
    after = simplify(before)
    assert types(after) == [operator[:6]]
    assert same_meaning(before, after)


def test_not_where_real_values_of_two_stored_ones_are_equal():
    assert "DequantizeLinear" in types(simplify(searched("ArgMax<axis=1>", 3e36)))  # infinite, both
