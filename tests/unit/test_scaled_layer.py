# SPDX-License-Identifier: MIT
"""Batch normalization and factors behind quantized weights become their scales: the stored integers stay, up to their sign."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.dequantize_constants import dequantize_constants
from aidge_build.prepare.recipes.fuse_batch_norm import fuse_batch_norm
from aidge_build.prepare.recipes.fuse_fully_connected import fuse_fully_connected
from aidge_build.prepare.recipes.fuse_scalings import fuse_scalings
from aidge_build.prepare.recipes.quantize_constants import quantize_constants
from aidge_build.prepare.recipes.quantize_islands import quantize_islands
from tests.models import graph, same_meaning, types

F = numpy.float32
RANDOM = numpy.random.default_rng(4)
STORED = RANDOM.integers(-7, 8, (3, 2, 3, 3)).astype(numpy.int8)
SCALES = numpy.array([0.1, 0.25, 0.02], F)
FACTORS = numpy.array([1.5, -0.5, 2], F)
IMAGE = {"inputs": "float[1,2,5,5] x", "outputs": "float[1,3,3,3] y"}
CONV = "d = DequantizeLinear<axis = 0>(w, s) a = Conv(x, d)"
BASE = {"w": STORED, "s": SCALES, "g": FACTORS.reshape(3, 1, 1)}


def made(text: str, **constants):
    return quantize_constants(graph(text, **IMAGE, constants={**BASE, **constants}))


def weights_of(view):
    return view.tensor(view.nodes[0].inputs[1])


def test_a_factor_changes_the_scales_and_the_signs():
    before = made(f"{CONV} y = Mul(a, g)")
    after = fuse_scalings(before)
    found = weights_of(after)
    assert types(after) == ["Conv2D"] and found.dtype is DType.int8
    assert found.data.tolist() == (STORED * numpy.sign(FACTORS).astype(int).reshape(3, 1, 1, 1)).tolist()
    assert found.quantization.scales == tuple(float(F(scale * abs(factor))) for scale, factor in zip(SCALES, FACTORS))
    assert found.quantization.axis == 0 and found.quantization.zero_points == (0, 0, 0)
    assert same_meaning(dequantize_constants(before), dequantize_constants(after), relative=1e-5)


def test_one_scale_becomes_one_for_each_channel_and_a_summand_leaves_the_weights_alone():
    before = made("d = DequantizeLinear(w, s) a = Conv(x, d) m = Mul(a, g) y = Add(m, g)", s=F(0.1))
    after = fuse_scalings(before)
    assert types(after) == ["Conv2D"] and len(weights_of(after).quantization.scales) == 3
    assert same_meaning(dequantize_constants(before), dequantize_constants(after), relative=1e-5)
    summed = fuse_scalings(made(f"{CONV} y = Add(a, g)"))
    assert types(summed) == ["Conv2D"] and weights_of(summed).name == weights_of(made(f"{CONV} y = Add(a, g)")).name
    assert weights_of(summed).quantization.scales == tuple(map(float, SCALES))


def test_a_bias_in_integers_is_scaled_as_a_number():
    text = "d = DequantizeLinear<axis = 0>(w, s) c = DequantizeLinear<axis = 0>(b, s) a = Conv(x, d, c) y = Mul(a, g)"
    before = made(text, b=numpy.array([7, -300, 5], numpy.int32))
    after = fuse_scalings(before)
    assert types(after) == ["Conv2D"]
    bias = after.tensor(after.nodes[0].inputs[2])
    assert bias.data.tolist() == pytest.approx([7 * 0.1 * 1.5, 300 * 0.25 * 0.5, 5 * 0.02 * 2], rel=1e-6)
    assert same_meaning(dequantize_constants(before), dequantize_constants(after), relative=1e-5)


def test_a_quantized_summand_is_the_number_that_it_stands_for():
    text = f"{CONV} e = DequantizeLinear(k, h) y = Add(a, e)"
    before = made(text, k=numpy.array([3, -4, 5], numpy.int8).reshape(3, 1, 1), h=F(0.5))
    after = fuse_scalings(before)
    assert types(after) == ["Conv2D"] and after.tensor(after.nodes[0].inputs[2]).data.tolist() == [1.5, -2, 2.5]


def test_a_channel_that_is_multiplied_by_zero_keeps_a_scale():
    before = made(f"{CONV} y = Mul(a, g)", g=numpy.array([0, 1, 2], F).reshape(3, 1, 1))
    after = fuse_scalings(before)
    assert not weights_of(after).data[0].any() and weights_of(after).quantization.scales[0] == pytest.approx(0.1)
    assert same_meaning(dequantize_constants(before), dequantize_constants(after))


@pytest.mark.parametrize(
    "change",
    [
        {"w": numpy.where(STORED == STORED[1, 0, 0, 0], -128, STORED).astype(numpy.int8)},  # 128 is no int8
        {"g": numpy.array([1, 2, 1e-44], F).reshape(3, 1, 1), "s": SCALES * F(0.01)},  # a scale of 0
        {"z": numpy.array([1, 0, 0], numpy.int8)},
    ],
)
def test_what_has_no_such_weights_stays(change):
    text = CONV.replace("(w, s)", "(w, s, z)") if "z" in change else CONV
    assert types(fuse_scalings(made(f"{text} y = Mul(a, g)", **change))) == ["Conv2D", "Mul"]


def test_batch_normalization_behind_quantized_weights_folds_and_computes_in_int8():
    parameters = {name: RANDOM.uniform(0.5, 2, 3).astype(F) * (-1 if name == "t" else 1) for name in ("gamma", "t", "m", "v")}
    text = f"""q = QuantizeLinear(x, sx, zx) xd = DequantizeLinear(q, sx, zx) {CONV.replace("Conv(x", "Conv(xd")}
        n = BatchNormalization(a, gamma, t, m, v) r = Relu(n) p = QuantizeLinear(r, sy, zx) y = DequantizeLinear(p, sy, zx)"""
    constants = {**parameters, "sx": F(0.05), "sy": F(0.1), "zx": numpy.int8(0)}
    plain = graph(text, **IMAGE, constants={**BASE, **constants})
    view = simplify(plain)
    assert types(fuse_batch_norm(quantize_constants(plain))).count("BatchNormalization") == 0
    assert types(view) == ["QuantizeLinear", "Conv2D", "DequantizeLinear"]
    x = RANDOM.normal(size=(1, 2, 5, 5)).astype(F) * 3
    wanted, found = (cpu.run(one, {"x": x})["y"] for one in (plain, view))
    assert numpy.abs(wanted - found).max() <= 0.1001 and (wanted != found).mean() < 0.02 and wanted.max() > 1


def test_a_fully_connected_layer_with_transposed_weights_folds_too():
    constants = {"w": STORED.reshape(9, 6)[:, :3].T.copy(), "s": F(0.1), "g": numpy.linspace(-1, 1, 9).astype(F)}
    before = quantize_constants(
        graph(
            "d = DequantizeLinear(w, s) a = MatMul(x, d) y = Mul(a, g)",
            inputs="float[2,3] x",
            outputs="float[2,9] y",
            constants=constants,
        )
    )
    after = fuse_scalings(fuse_fully_connected(before))
    assert types(after) == ["FC"] and weights_of(after).dtype is DType.int8
    assert same_meaning(dequantize_constants(before), dequantize_constants(after), relative=1e-5)


def test_a_summand_behind_a_quantized_result_stays_a_layer_of_its_own():
    text = (
        "v = DequantizeLinear(x, t) d = DequantizeLinear<axis = 0>(w, s) a = Conv(v, d) q = QuantizeLinear(a, t, z) "
        "r = DequantizeLinear(q, t, z) e = DequantizeLinear(k, t, z) m = Add(r, e) y = QuantizeLinear(m, t, z)"
    )
    constants = {**BASE, "t": F(0.37), "z": numpy.int8(3), "k": numpy.array([5], numpy.int8)}
    view = graph(text, inputs="int8[1,2,5,5] x", outputs="int8[1,3,3,3] y", constants=constants)
    stored = quantize_islands(quantize_constants(view))
    assert types(stored) == ["Conv2D", "Add"] and types(fuse_scalings(stored)) == ["Conv2D", "Add"]
