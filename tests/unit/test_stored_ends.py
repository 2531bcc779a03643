# SPDX-License-Identifier: MIT
"""Inputs and outputs of the graph in other integer types than the int8 core between them: no float image, at most one pass."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.reference import cpu
from aidge_build.graph.dtype import DType
from aidge_build.prepare.recipes import simplify
from tests.compiled import program_of
from tests.models import graph, model, same_meaning, types

F = numpy.float32
KINDS = {"int8": numpy.int8, "uint8": numpy.uint8, "int16": numpy.int16, "uint16": numpy.uint16}
RANDOM = numpy.random.default_rng(16)


def with_ends(
    kind: str, point: int, scale: float, result: str, result_point: int, result_scale: float, size: str = "6,7", make=graph
):
    """A convolution on int8 of scale 0.05 and zero point -3, between an input and an output of these types."""
    return make(
        """xf = DequantizeLinear(x, sx, zx) q = QuantizeLinear(xf, s, z) d = DequantizeLinear(q, s, z)
        wf = DequantizeLinear(w, sw, zw) a = Conv<pads=[1,1,1,1]>(d, wf) p = QuantizeLinear(a, so, zo)
        o = DequantizeLinear(p, so, zo) y = QuantizeLinear(o, sy, zy)""",
        inputs=f"{kind}[1,3,{size}] x",
        outputs=f"{result}[1,4,{size}] y",
        opset=21,
        constants={
            "sx": F(scale),
            "zx": KINDS[kind](point),
            "s": F(0.05),
            "z": numpy.int8(-3),
            "w": RANDOM.integers(-90, 90, (4, 3, 3, 3)).astype(numpy.int8),
            "sw": F(0.01),
            "zw": numpy.int8(0),
            "so": F(0.1137),
            "zo": numpy.int8(5),
            "sy": F(result_scale),
            "zy": KINDS[result](result_point),
        },
    )


ENDS = {
    "zero points 128 apart": (("uint8", 125, 0.05), ("uint8", 133, 0.1137), ["FlipSign", "Conv2D", "FlipSign"]),
    "other zero points": (("uint8", 120, 0.05), ("uint8", 100, 0.11), ["Restated", "Table", "Conv2D", "Table", "Restated"]),
    "other scales": (("uint8", 0, 1 / 255), ("int8", -128, 0.3), ["Restated", "Table", "Conv2D", "Table"]),
    "scales of other last bits": (("uint8", 125, 0.05000001), ("int8", 5, 0.11370001), ["FlipSign", "Conv2D", "Restated"]),
    "int16": (("int16", 0, 0.0002), ("int16", 0, 0.0005), ["Clip", "Conv2D", "Clip"]),
    "uint16 and uint8": (("uint16", 32768, 0.0002), ("uint8", 133, 0.1137), ["Clip", "Conv2D", "FlipSign"]),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("rounding", ("onnx", "double"))
def test_an_int8_core_meets_other_types_of_its_ends_without_a_float_image(name, rounding):
    given, made, wanted = ENDS[name]
    before = with_ends(*given, *made)
    after = simplify(before, rounding)
    assert types(after) == wanted
    assert not any(tensor.dtype is DType.float32 and not tensor.is_constant for tensor in after.tensors.values())
    if rounding == "onnx":
        assert same_meaning(before, after)


def test_bytes_that_only_change_their_scale_from_uint8_to_uint8_are_one_table():
    before = graph(
        "f = DequantizeLinear(x, s, z) y = QuantizeLinear(f, t, u)",
        inputs="uint8[1,1,16,16] x",
        outputs="uint8[1,1,16,16] y",
        constants={"s": F(0.02), "z": numpy.uint8(3), "t": F(0.031), "u": numpy.uint8(77)},
    )
    after = simplify(before)
    assert types(after) == ["Restated", "Table", "Restated"]
    values = {"x": numpy.arange(256, dtype=numpy.uint8).reshape(1, 1, 16, 16)}
    assert (cpu.run(after, values)["y"] == cpu.run(before, values)["y"]).all()


@pytest.mark.parametrize("board", ["rp2040", "mps2-an386", "mps3-an547"])
def test_the_plan_of_a_uint8_output_needs_no_more_bytes_than_that_of_an_int8_output(board):
    """Of channels first, as ONNX has them: the copy between formats stands next to the output, and signs change in place."""
    arenas = []
    for kind, point in (("int8", 5), ("uint8", 133)):
        made = with_ends("int8", -3, 0.05, kind, point, 0.1137, "24,24", model)
        arenas.append(program_of(made, "net.onnx", load_board(board)).memory.arena.peak_bytes)
    assert arenas[1] <= arenas[0]
