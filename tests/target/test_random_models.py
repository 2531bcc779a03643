# SPDX-License-Identifier: MIT
"""Seeded random networks, float and quantized by onnxruntime: right against the reference, whatever they are made of."""

from __future__ import annotations

import os

import numpy
import onnx
import pytest

from tests.command import aidge_build
from tests.dialects import SPELLINGS, quantized
from tests.programs import needs_cross_compiler, needs_qemu
from tests.random_models import RandomNetwork

onnxruntime = pytest.importorskip("onnxruntime")
# 106 once lost a layer to the compiler; 270 quantizes a float that lies between two levels. More: AIDGE_RANDOM_MODELS=500
SEEDS = sorted({*range(int(os.environ.get("AIDGE_RANDOM_MODELS", "4"))), 106, 270})
# The boards with their own libraries; without the variable a few seeds run there.
ON_BOARDS = SEEDS if "AIDGE_RANDOM_MODELS" in os.environ else SEEDS[3::4]


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


def quantized_network(seed: int, folder) -> None:
    """quantized.onnx, in the spelling that the seed chooses, and io.npz in the folder."""
    inputs = network(seed, folder)
    quantized(folder / "float.onnx", folder / "quantized.onnx", SPELLINGS[seed % 8], inputs, ActivationSymmetric=seed % 3 == 0)
    numpy.savez(folder / "io.npz", x=inputs)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_quantized_network_equals_the_numpy_backend_layer_by_layer(seed, tmp_path):
    quantized_network(seed, tmp_path)
    result = aidge_build(
        "verify", tmp_path / "quantized.onnx", "--io-data", tmp_path / "io.npz", "--lib", "ref", "--layers", "--json"
    )
    assert result.exit_code == 0, result.stderr or result.stdout


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("seed", ON_BOARDS)
def test_a_random_quantized_network_on_a_board_with_its_libraries_equals_the_numpy_backend(seed, board, tmp_path):
    quantized_network(seed, tmp_path)
    result = aidge_build(
        "verify", tmp_path / "quantized.onnx", "--io-data", tmp_path / "io.npz", "--board", board, "--layers", "--json"
    )
    assert result.exit_code == 0, result.stderr or result.stdout
