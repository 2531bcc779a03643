# SPDX-License-Identifier: MIT
"""Copies with steps: the innermost loop is a long one, or copies many bytes at once."""

from __future__ import annotations

import numpy
import pytest
from harness import case

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.blocks import DepthToSpace
from aidge_build.operators.rearrange import Slice


def innermost(operator, dims):
    made = case(operator, [Tensor("x", dims, DType.int8)], [numpy.zeros(dims, numpy.int8)])
    fields = made.call.arguments[-1].fields
    return fields["dims"][-1], fields["source_steps"][-1], fields["target_steps"][-1]


@pytest.mark.parametrize(
    "operator, dims, loop",
    [
        (DepthToSpace(2, True), (1, 4, 5, 28), (28, 4, 2)),  # not the two neighbours of a row that a block makes
        (DepthToSpace(2, True), (1, 256, 5, 28), (128, 1, 1)),
        (Slice((0, 0, 2), (1, 100, 4), (1, 1, 1)), (1, 100, 8), (400, 1, 1)),
        (Slice((0, 2), (100, 4), (1, 1)), (100, 8), (100, 8, 4)),
    ],
)
def test_the_innermost_loop_is_that_with_the_fewest_instructions(operator, dims, loop):
    assert innermost(operator, dims) == loop
