# SPDX-License-Identifier: MIT
"""The planner gives every kernel as much scratch as the call asks for that is printed in the end."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.spec import NodeView
from tests.compiled import program_of
from tests.models import model

CHANNELS, TAPS = 33, 5


def depthwise_of_25_taps() -> bytes:
    """Its weights lie in scratch where the text makes them from bytes, and not where they are halfwords in flash."""
    weights = numpy.random.default_rng(3).integers(-127, 128, (CHANNELS, 1, TAPS, TAPS)).astype(numpy.int8)
    return model(
        "a = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, z)"
        f" c = Conv<group={CHANNELS}, strides=[2,2], pads=[2,2,2,2]>(a, v) y = QuantizeLinear(c, t, z)",
        inputs=f"int8[1,{CHANNELS},20,20] x",
        outputs=f"int8[1,{CHANNELS},10,10] y",
        constants={"s": numpy.float32(0.031), "t": numpy.float32(0.9), "z": numpy.int8(0), "w": weights},
    )


@pytest.mark.parametrize("board", ["mps2-an386", "mps2-an386-nofpu", "mps3-an547", "mps2-an385", "rp2040"])
def test_a_kernel_that_looks_at_the_core_gets_the_scratch_of_the_variant_that_is_called(board):
    program = program_of(depthwise_of_25_taps(), "net.onnx", load_board(board))
    layers = [layer for layer in program.layers if layer.node.type == "ConvDepthWise2D"]
    called = [
        NodeView(layer.node, layer.inputs, layer.outputs, program.view, features=load_board(board).features) for layer in layers
    ]
    wanted = [layer.kernel.demands(view).scratch_bytes for layer, view in zip(layers, called, strict=True)]
    planned = [
        one.buffer.size_bytes for one in program.arena.placements if one.buffer.name == f"scratch of {layers[0].node.name}"
    ]
    assert planned == list(filter(None, wanted)) and len(wanted) == 1
