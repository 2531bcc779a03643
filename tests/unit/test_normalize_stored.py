# SPDX-License-Identifier: MIT
"""Batch normalization and PReLU between stored values, as quantizers leave them, read and write bytes."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.meaning import require_same_meaning
from tests.models import graph, types

F = numpy.float32
NORMALIZE = "d = DequantizeLinear(x, s, z) n = BatchNormalization(d, g, b, m, v)"
CONSTANTS = {
    "s": F(0.05),
    "t": F(0.03),
    "z": numpy.uint8(133),
    "g": F([0.5, -1.5, 1]),
    "b": F([0.1, 0, -2]),
    "m": F([0, 0.3, 0.1]),
    "v": F([1, 0.2, 3]),
}


def normalized(text=f"{NORMALIZE} y = QuantizeLinear(n, t, z)", outputs="uint8[2,3,4,5] y", **other):
    return graph(text, inputs="uint8[2,3,4,5] x", outputs=outputs, constants={**CONSTANTS, **other})


def test_batch_normalization_between_stored_values_computes_on_them_and_gives_the_same_bits():
    before = normalized()
    after = simplify(before)
    assert types(after) == ["FlipSign", "BatchNormalization", "FlipSign"]
    require_same_meaning(before, after, "simplify", exact=True)


def test_so_does_prelu_with_slopes_that_stay_floats():
    slopes = F([[[0.25]], [[-0.1]], [[1.5]]])
    before = normalized("d = DequantizeLinear(x, s, z) n = PRelu(d, k) y = QuantizeLinear(n, t, z)", k=slopes)
    after = simplify(before)
    assert types(after) == ["FlipSign", "PReLU", "FlipSign"]
    require_same_meaning(before, after, "simplify", exact=True)


@pytest.mark.parametrize(
    "text, outputs, other",
    [
        (f"{NORMALIZE} y = Sin(n)", "float[2,3,4,5] y", {}),
        (f"{NORMALIZE} y = QuantizeLinear(n, t, z) f = Sin(n)", "uint8[2,3,4,5] y, float[2,3,4,5] f", {}),
        (
            "d = DequantizeLinear(x, s, w) n = BatchNormalization(d, g, b, m, v) y = QuantizeLinear(n, t, z)",
            "uint8[2,3,4,5] y",
            {"s": F([0.1, 0.2, 0.3]), "w": numpy.uint8([1, 2, 3])},
        ),
    ],
    ids=["float result", "result is read in float, too", "a scale for each channel"],
)
def test_elsewhere_it_stays_a_float_operator(text, outputs, other):
    assert "DequantizeLinear" in types(simplify(normalized(text, outputs, **other)))


def test_under_the_contract_of_tensorflow_lite_it_stays_a_float_operator():
    assert types(simplify(normalized(), "double")) == ["DequantizeLinear", "BatchNormalization", "QuantizeLinear"]
