# SPDX-License-Identifier: MIT
"""Files of quantization-aware training run in integers: values, instructions for each multiply-accumulate, weights as bytes."""

from __future__ import annotations

import functools
import os
from dataclasses import replace

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.contract.reference import cpu
from aidge_build.run.verify.firmware import execute
from tests.compiled import program_of, request_of
from tests.programs import needs_cross_compiler, needs_qemu
from tests.qat_models import NETWORKS, qat_model

FILES = [names for first in range(0, len(NETWORKS), 2) for names in [tuple(NETWORKS)[first : first + 2]]]
FLOAT_ACTIVATION, FLOAT_MEAN = ("pt2eswish",), ("eager", "eagertensor", "eagersigned")
# board: the most instructions for each multiply-accumulate, and behind convolutions whose activation the file computes in float
BOARDS = {"mps2-an386": (1.2, 1.45), "mps3-an547": (0.35, 0.5)}
RUNS = [(names, board) for names in FILES for board in BOARDS]
RUNS = RUNS if "AIDGE_STRESS" in os.environ else [RUNS[1], RUNS[4], RUNS[8], RUNS[9]]


@functools.cache
def program(names, board):
    return program_of(qat_model(*names), "qat.onnx", load_board(board))


def layers_of(made, name):
    return [layer for layer in made.layers if layer.node.name.startswith(f"{name}_")]


@pytest.mark.parametrize("names", FILES, ids="-".join)
def test_every_layer_with_weights_is_one_of_bytes(names):
    """But for the last one behind a mean that nobody quantizes."""
    made = program(names, "mps2-an386")
    for name in names:
        layers = [layer for layer in layers_of(made, name) if layer.macs]
        types = [made.view.tensor(layer.node.inputs[1]).dtype.name for layer in layers]
        assert len(types) == (3 if name == "brevitasfc" else 4)
        assert set(types[: -1 if name in FLOAT_MEAN else None]) <= {"int8", "int16"}


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("names, board", RUNS, ids=lambda value: value if isinstance(value, str) else "-".join(value))
def test_no_value_differs_and_each_file_takes_few_instructions(names, board, tmp_path):
    made, random = program(names, board), numpy.random.default_rng(4)
    vectors = {name: random.normal(0, 1, (1, *made.view.tensor(name).dims)).astype(numpy.float32) for name in made.view.inputs}
    run = execute(made, load_board(board), vectors, tmp_path)
    meant = cpu.run(made.view, {name: values[0] for name, values in vectors.items()})
    assert [name for name in made.view.outputs if (run.outputs[name][0] != meant[name]).any()] == []
    counted = {layer.symbol: layer.instructions for layer in run.result.layers}
    for name in names:
        layers = layers_of(made, name)
        behind = [layer for layer in layers if layer.node.type == "Staircase"]
        fused = [layer for layer in layers if layer.node.type == "CurvedConv"]
        assert len(behind) + len(fused) == (3 if name in FLOAT_ACTIVATION else 0)
        linear = [layer for layer in layers if layer.macs]
        ratio = sum(counted[layer.symbol] for layer in [*linear, *behind]) / sum(layer.macs for layer in linear)
        assert ratio <= BOARDS[board][name in FLOAT_ACTIVATION], (name, ratio)


@needs_cross_compiler
@needs_qemu
def test_layers_with_their_functions_are_computed_row_by_row_where_ram_is_short(tmp_path):
    board = load_board("mps2-an386")
    request = request_of(qat_model(*FLOAT_ACTIVATION), "qat.onnx", board)
    made = build_program(replace(request, options=replace(request.options, ram_budget=5600)))
    assert len(made.schedule.cascades) == 1 and [layer.node.type for layer in made.layers].count("CurvedConv") == 3
    vectors = numpy.random.default_rng(5).normal(0, 1, (2, *made.view.tensor(made.view.inputs[0]).dims)).astype(numpy.float32)
    run = execute(made, board, {made.view.inputs[0]: vectors}, tmp_path)
    for given, found in zip(vectors, run.outputs[made.view.outputs[0]]):
        assert (found == cpu.run(made.view, {made.view.inputs[0]: given})[made.view.outputs[0]]).all()
