# SPDX-License-Identifier: MIT
"""Kernels see the core when they accept a node, when they say what they need, and when they are called: the same one."""

from __future__ import annotations

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.contract.node_view import asked_of
from aidge_build.contract.spec import NodeView
from aidge_build.prepare.adaptation.assignment import Assignment
from aidge_build.prepare.adaptation.match import Target
from tests.compiled import program_of
from tests.models import graph, model

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
        one.buffer.size_bytes for one in program.memory.arena.placements if one.buffer.name == f"scratch of {layers[0].node.name}"
    ]
    assert planned == list(filter(None, wanted)) and len(wanted) == 1


@pytest.mark.parametrize(
    "board, wanted",
    [("mps2-an386", "layer_norm_float32"), ("mps2-an386-nofpu", "normalize_fixed"), ("rp2040", "normalize_fixed")],
)
def test_only_a_core_without_an_fpu_gets_the_kernel_that_is_made_for_none(board, wanted):
    scale, bias = numpy.linspace(0.5, 2, 48, dtype=numpy.float32), numpy.zeros(48, numpy.float32)
    normalized = model(
        "y = LayerNormalization(x, g, b)", inputs="float[1,8,48] x", outputs="float[1,8,48] y", constants={"g": scale, "b": bias}
    )
    program = program_of(normalized, "net.onnx", load_board(board))
    assert [layer.kernel.name for layer in program.layers] == [wanted]


def test_a_build_that_says_nothing_asks_for_what_a_view_by_itself_has():
    view = graph("y = Relu(x)", inputs="float[1,4] x", outputs="float[1,4] y")
    alone = NodeView.of(view, view.nodes[0])
    assert Target().asked == asked_of(Assignment(view, {})) == asked_of(alone)
