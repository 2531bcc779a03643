# SPDX-License-Identifier: MIT
"""Weights in float that are levels of a scale become those levels: exporters fold batch normalization into quantized weights."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import constant
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.meaning import require_same_meaning
from aidge_build.prepare.recipes.name_levels import levels, name_levels
from tests.models import graph, types

F = numpy.float32
RANDOM = numpy.random.default_rng(5)
SCALES, FACTORS = RANDOM.uniform(0.001, 0.02, (4, 1)).astype(F), RANDOM.uniform(-3, 3, (4, 1)).astype(F)
READ, WRITE = "d = DequantizeLinear(x, s, z)", "y = QuantizeLinear(c, s, z)"


def stored(*dims) -> numpy.ndarray:
    """Levels of which those of one output have no divisor in common."""
    found = RANDOM.integers(-127, 128, dims).reshape(dims[0], -1)
    found[:, :2] = 127, 90
    return found.reshape(dims).astype(numpy.int8)


def folded(given: numpy.ndarray) -> numpy.ndarray:
    """What an exporter makes of them: dequantized, then multiplied by the factor of batch normalization."""
    rows = given.reshape(len(given), -1).astype(F)
    return (rows * SCALES * FACTORS).reshape(given.shape)


def layer(weights, text=f"{READ} c = Conv(d, w, b) {WRITE}", inputs="int8[1,3,5,5] x", outputs="int8[1,4,?,?] y"):
    constants = {"w": weights, "b": F([0.5, -0.1, 0.01, 2]), "s": F(0.05), "z": numpy.int8(-3)}
    return graph(text, inputs=inputs, outputs=outputs, constants=constants)


def test_weights_of_quantized_aware_training_behind_a_folded_batch_normalization_are_the_levels_that_were_trained():
    given = stored(4, 3, 3, 3)
    found = levels(constant("w", folded(given)))
    assert found.dtype is DType.int8 and found.quantization.axis == 0
    assert (found.data == given * numpy.sign(FACTORS).reshape(4, 1, 1, 1)).all()
    assert numpy.abs(found.quantization.scales / numpy.abs(SCALES * FACTORS).reshape(-1) - 1).max() < 2.0**-22


@pytest.mark.parametrize(
    "text, dims, inputs, outputs, wanted",
    [
        (f"{READ} c = Conv(d, w, b) {WRITE}", (4, 3, 3, 3), "int8[1,3,5,5] x", "int8[1,4,?,?] y", ["Conv2D"]),
        (f"{READ} c = Gemm<transB=1>(d, w, b) {WRITE}", (4, 7), "int8[2,7] x", "int8[2,4] y", ["FC"]),
        (f"{READ} y = Conv(d, w, b)", (4, 3, 3, 3), "int8[1,3,5,5] x", "float[1,4,?,?] y", ["DynamicConv"]),
    ],
)
def test_such_a_layer_computes_on_bytes(text, dims, inputs, outputs, wanted):
    before = layer(folded(stored(*dims)), text, inputs, outputs)
    after = simplify(before)
    assert types(after) == wanted
    require_same_meaning(before, after, "simplify", exact=False)


def test_an_output_whose_weights_are_zero_takes_no_part_in_finding_levels():
    given = stored(4, 3, 3, 3)
    given[2] = 0
    found = levels(constant("w", folded(given)))
    assert not found.data[2].any() and found.quantization.scales[2] == 1


def test_one_weight_that_is_no_level_keeps_the_layer_in_float():
    weights = folded(stored(4, 3, 3, 3))
    weights[3, 2, 1, 1] *= F(1 + 2.0**-20)
    assert levels(constant("w", weights)) is None
    view = layer(weights)
    assert name_levels(view) is view


def test_a_layer_of_floats_keeps_its_weights():
    view = layer(folded(stored(4, 3, 3, 3)), "y = Conv(x, w, b)", "float[1,3,5,5] x", "float[1,4,?,?] y")
    assert name_levels(view) is view


@pytest.mark.parametrize("value", [numpy.inf, numpy.nan])
def test_weights_that_are_no_numbers_are_no_levels(value):
    weights = folded(stored(4, 3, 3, 3))
    weights[0, 0, 0, 0] = value
    with numpy.errstate(invalid="ignore"):  # as `checked` does
        assert levels(constant("w", weights)) is None
