# SPDX-License-Identifier: MIT
"""Constants that pruning left with scales of 0: their real values are 0, whatever is stored."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.recipes.dead_channels import TINY, dead_channels
from tests.models import graph, same_meaning, types

WEIGHTS = numpy.arange(-3, 9, dtype=numpy.int8).reshape(3, 4)


@pytest.mark.parametrize("axis, scales", [(0, [0, 0.5, 0.25]), (1, [0.5, 0, 2, 0]), (0, 0), (0, [0, 0, 0])])
@pytest.mark.parametrize("points", ["", "each", "same"])
def test_channels_with_a_scale_of_0_get_their_zero_point_and_a_scale(axis: int, scales, points: str) -> None:
    scale = numpy.float32(scales)
    zeros = numpy.int8(numpy.arange(1, scale.size + 1).reshape(scale.shape) if points == "each" else numpy.full(scale.shape, 7))
    constants = {"w": WEIGHTS, "s": scale, **({"z": zeros} if points else {})}
    text = f"r = DequantizeLinear<axis={axis}>(w, s{', z' if points else ''}) y = Add(x, r)"
    before = graph(text, inputs="float[3,4] x", outputs="float[3,4] y", constants=constants)
    after = dead_channels(before)
    assert same_meaning(before, after)
    data, scale_after, *_ = after.input_tensors(next(node for node in after.nodes if node.type == "DequantizeLinear"))
    assert (scale_after.data == numpy.where(scale == 0, TINY, scale)).all()
    lists = [1, 1] if scale.ndim == 0 else [-1 if place == axis else 1 for place in range(2)]
    kept = numpy.where(scale.reshape(lists) == 0, (zeros if points else zeros * 0).reshape(lists), WEIGHTS)
    assert (data.data == kept).all() and data.data.dtype == numpy.int8


def test_two_channels_and_a_scale_for_all_of_a_list_are_told_apart_and_other_scales_stay() -> None:
    for scale, data, axis in (([0, 1], [[5, 6], [7, 8]], "<axis=1>"), (0, [3, 4], ""), (1, [3, 4], "")):
        constants = {"w": numpy.int8(data), "s": numpy.float32(scale)}
        result = f"float{list(numpy.shape(data))} y"
        before = graph(f"r = DequantizeLinear{axis}(w, s) y = Neg(r)", inputs="float[2] x", outputs=result, constants=constants)
        after = dead_channels(before)
        assert same_meaning(before, after) and (after is before) == (scale == 1)


def test_computed_data_with_a_scale_of_0_is_zeros_inside_a_graph_and_at_its_end() -> None:
    for text in ("y = DequantizeLinear(x, s)", "r = DequantizeLinear(x, s) y = Neg(r)"):
        before = graph(text, inputs="int8[3,4] x", outputs="float[3,4] y", constants={"s": numpy.float32(0)})
        after = dead_channels(before)
        assert "DequantizeLinear" not in types(after) and same_meaning(before, after)
