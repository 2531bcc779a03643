# SPDX-License-Identifier: MIT
"""Fake quantization that was written as arithmetic is a quantization again; other arithmetic stays."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.prepare.recipes import simplify
from aidge_build.prepare.recipes.name_fake_quantization import name_fake_quantization
from tests.models import graph, same_meaning, types
from tests.neighbours import changed, swapped

F = numpy.float32
RANDOM = numpy.random.default_rng(9)


def fake(data: str, result: str, key: str, by: str = "Mul", point: bool = True) -> str:
    added, taken = (
        (f"Add({result}2, z{key})", f"Sub({result}4, z{key})") if point else (f"Identity({result}2)", f"Identity({result}4)")
    )
    return f"""{result}1 = {by}({data}, i{key}) {result}2 = Round({result}1) {result}3 = {added}
        {result}4 = Clip({result}3, l{key}, h{key}) {result}5 = {taken} {result} = Mul({result}5, s{key}) """


def numbers(key: str, scale: float, point: int, low: int, high: int, by: str = "Mul") -> dict:
    scale = F(scale)
    factor = scale if by == "Div" else F(1) / scale
    named = {"s": scale, "i": factor, "z": F(point), "l": F(low), "h": F(high)}
    return {f"{name}{key}": F(value) for name, value in named.items()}


def network(scale: float, by: str = "Mul", point: int = -3, levels: tuple[int, int] = (-128, 127)):
    """Input, convolution with weights that are levels, and output, with fake quantization between."""
    text = fake("x", "a", "x", by, point != 0) + "c = Conv<pads=[1,1,1,1]>(a, w, b) r = Relu(c) " + fake("r", "y", "y")
    weights = (RANDOM.integers(-127, 128, (6, 4, 3, 3)) * F(0.0078125)).astype(F)
    constants = {**numbers("x", scale, point, *levels, by), **numbers("y", 0.125, -128, -128, 127), "w": weights}
    if not point:
        del constants["zx"]
    constants["b"] = RANDOM.normal(size=6).astype(F)
    return graph(text, inputs="float[1,4,8,8] x", outputs="float[1,6,8,8] y", constants=constants)


def run(view) -> numpy.ndarray:
    return cpu.run(view, {"x": (numpy.random.default_rng(1).normal(size=(1, 4, 8, 8)) * 3).astype(F)})["y"]


@pytest.mark.parametrize("scale, by", [(0.0625, "Mul"), (0.05, "Mul"), (0.05, "Div"), (0.0371, "Mul")])
@pytest.mark.parametrize("point", [-3, 0])
def test_a_network_of_fake_quantization_computes_on_bytes(scale, by, point):
    before = network(scale, by, point)
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", "Conv2D", "DequantizeLinear"]
    stored = after.tensor(after.nodes[0].outputs[0])
    assert stored.dtype is DType.int8 and stored.quantization.zero_point == point
    assert (run(after) == run(before)).all()


@pytest.mark.parametrize(
    "clamp", ["m = Max(y3, lx) y4 = Min(m, hx)", "m = Min(hx, y3) y4 = Max(m, lx)", "m = Min(y3, hx) y4 = Max(lx, m)"]
)
def test_a_clamp_may_be_a_max_and_a_min(clamp):
    text = fake("x", "y", "x").replace("y4 = Clip(y3, lx, hx)", clamp)
    before = graph(text, inputs="float[1,4,8,8] x", outputs="float[1,4,8,8] y", constants=numbers("x", 0.05, -3, -128, 127))
    after = simplify(before)
    assert types(after) == ["QuantizeLinear", "DequantizeLinear"] and (run(after) == run(before)).all()


@pytest.mark.parametrize("half", ["y4 = Max(y3, lx)", "y4 = Min(y3, hx)", "m = Max(y3, lx) y4 = Max(m, hx)"])
def test_half_a_clamp_is_none(half):
    text = fake("x", "y", "x").replace("y4 = Clip(y3, lx, hx)", half)
    constants = numbers("x", 0.05, -3, -128, 127)
    before = graph(text, inputs="float[1,4,8,8] x", outputs="float[1,4,8,8] y", constants=constants)
    assert "QuantizeLinear" not in types(simplify(before))


@pytest.mark.parametrize("levels, dtype", [((0, 255), DType.uint8), ((-127, 127), DType.int8), ((0, 15), DType.int8)])
def test_the_smallest_type_holds_the_levels_and_fewer_ones_are_a_clamp(levels, dtype):
    before = graph(
        fake("x", "y", "x"),
        inputs="float[1,4,8,8] x",
        outputs="float[1,4,8,8] y",
        constants=numbers("x", 0.05, 7, *levels),
    )
    after = simplify(before)
    assert types(after)[0] == "QuantizeLinear" and after.nodes[0].operator.dtype in (dtype, DType.int8)
    assert (run(after) == run(before)).all()


@pytest.mark.parametrize(
    "other",
    [
        {"ix": F(19.5)},
        {"zx": F(0.5)},
        {"zx": F(-129)},
        {"lx": F(-127.5)},
        {"hx": F(70000)},
        {"sx": F(-0.05)},
        {"sx": F(-0.05), "ix": F(-20)},
    ],
    ids=str,
)
def test_arithmetic_that_is_no_quantization_stays(other):
    constants = {**numbers("x", 0.05, -3, -128, 127), **other}
    before = graph(fake("x", "y", "x"), inputs="float[1,4,8,8] x", outputs="float[1,4,8,8] y", constants=constants)
    after = simplify(before)
    assert "QuantizeLinear" not in types(after) and (run(after) == run(before)).all()


EXACT = numbers("x", 2.0**-6, -3, -128, 127)
SPELLINGS = [fake("x", "y", "x"), fake("x", "y", "x").replace("y4 = Clip(y3, lx, hx)", "m = Max(y3, lx) y4 = Min(m, hx)")]


def exact(text: str):
    return graph(text, inputs="float[1,4,8,8] x", outputs="float[1,4,8,8] y", constants=EXACT)


@pytest.mark.parametrize("text", SPELLINGS)
def test_operands_of_fake_quantization_may_be_in_any_order(text):
    for other in swapped(text):
        assert "QuantizeLinear" in types(name_fake_quantization(exact(other))), other


@pytest.mark.parametrize("text", SPELLINGS)
def test_what_only_looks_like_fake_quantization_keeps_its_meaning(text):
    for other in changed(text, "x", "zx", "lx", "ix"):
        before = exact(other)
        after = name_fake_quantization(before)
        assert after is before or same_meaning(before, after, relative=0), other
