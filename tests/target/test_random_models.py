# SPDX-License-Identifier: MIT
"""Seeded random networks, float and quantized by onnxruntime: right against the reference, whatever they are made of."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import onnx
import pytest

from aidge_build.boards import load_board
from aidge_build.run.verify.compare import first_difference
from aidge_build.run.verify.firmware import execute
from aidge_build.run.verify.layers import meanings
from tests.command import aidge_build
from tests.compiled import program_of
from tests.dialects import SPELLINGS, quantized
from tests.programs import needs_cross_compiler, needs_qemu
from tests.random_models import RandomNetwork

onnxruntime = pytest.importorskip("onnxruntime")
MORE = os.environ.get("AIDGE_RANDOM_MODELS") or ("4" if "AIDGE_STRESS" in os.environ else "")
# 1 has wide layers, 3 has groups; 106 once lost a layer to the compiler; 270 quantizes a float that lies between two levels.
# AIDGE_RANDOM_MODELS=500 takes more.
SEEDS = sorted({*(range(int(MORE)) if MORE else (1, 3)), 106, 270})
# The boards with their own libraries; without the variables one seed runs there.
ON_BOARDS = SEEDS if MORE else [3]


def reference(path, inputs) -> numpy.ndarray:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return numpy.stack([session.run(None, {"x": vector})[0] for vector in inputs])


def network(seed: int, folder):
    made = RandomNetwork(seed, nodes=6 + seed % 7, groups=seed % 4 == 3, wide=seed % 3 == 1)
    onnx.save(made.model(), folder / "float.onnx")
    return made.inputs(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_float_network_matches_onnxruntime(seed, tmp_path):
    inputs = network(seed, tmp_path)
    numpy.savez(tmp_path / "io.npz", x=inputs, y=reference(tmp_path / "float.onnx", inputs))
    result = aidge_build(
        "verify", tmp_path / "float.onnx", "--io-data", tmp_path / "io.npz", "--reference", "y", "--lib", "ref", "--json"
    )
    assert result.exit_code == 0, result.stderr or result.stdout


def check_quantized(seed: int, board_name: str, folder: Path) -> None:
    """Quantizes in the spelling that the seed chooses, and compares every layer with its meaning for the inputs that it had."""
    inputs, board, path = network(seed, folder), load_board(board_name), folder / "quantized.onnx"
    quantized(folder / "float.onnx", path, SPELLINGS[seed % 8], inputs, ActivationSymmetric=seed % 3 == 0)
    program, given = program_of(path.read_bytes(), path.name, board), {"x": inputs}
    trace = execute(program, board, given, folder, trace=True).trace
    assert set(program.view.outputs) <= trace.keys()
    assert first_difference(list(trace), trace, meanings(program.view, given, trace)) is None


@pytest.mark.requirement("G2")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_quantized_network_equals_the_numpy_backend_layer_by_layer(seed, tmp_path):
    check_quantized(seed, "host", tmp_path)


@pytest.mark.requirement("G2")
@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("seed", ON_BOARDS)
def test_a_random_quantized_network_on_a_board_with_its_libraries_equals_the_numpy_backend(seed, board, tmp_path):
    check_quantized(seed, board, tmp_path)
