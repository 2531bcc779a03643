# SPDX-License-Identifier: MIT
"""Models in the wild, by people who do not know this project: compiled for host and board, run, compared with onnxruntime."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from aidge_build.boards import Board, load_board
from aidge_build.contract.reference import cpu
from aidge_build.plan.program import Program
from aidge_build.run.verify.firmware import execute
from tests.command import aidge_build
from tests.compiled import program_of
from tests.programs import needs_cross_compiler, needs_qemu
from tests.shared import SHARED, shared

WILD = SHARED / "models" / "wild"
FLOAT = (
    "mnist14_tiny_cnn",
    "mnist_cntk",
    "mobilenet_v2_050_128",
    "prelu_concat_dynbatch",
    "streaming_tcn",
    "ultraface_slim_320",
    "yamnet_256_esc10",
    "yunet_s_320",
)
INTEGER = ("mnist5x5_dynamic_quant", "mnist_cntk_integer_ops")
QUANTIZED = {"kws_micro_m_int8_qdq": 2, "kws_micro_m_int8_qoperator": 2}  # largest distance to onnxruntime, levels of the output
LARGE = ("ultraface_slim_320", "yunet_s_320")
STRESS = "AIDGE_STRESS" in os.environ
VECTORS = 2  # of large networks one


def compiled(name: str, board: Board) -> Program:
    """The model for a board, with its weights as bytes: as numbers in C, which other tests compile, they take long."""
    path = shared(WILD / f"{name}.onnx")
    program = program_of(path.read_bytes(), path.name, board)
    return replace(program, options=replace(program.options, weights="incbin"))


def results(name: str, folder: Path):
    """(program, ours, numpy's, onnxruntime's): outputs by name, [vector, dims...]."""
    onnxruntime = pytest.importorskip("onnxruntime")
    program = compiled(name, load_board("host"))
    random = numpy.random.default_rng(len(name))
    count = VECTORS if STRESS or name not in LARGE else 1
    inputs = {tensor: random.random((count, *program.view.tensor(tensor).dims), numpy.float32) for tensor in program.view.inputs}
    ours = execute(program, load_board("host"), inputs, folder).outputs
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(WILD / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    rows = [session.run(names, {tensor: values[index] for tensor, values in inputs.items()}) for index in range(count)]
    theirs = {output: numpy.stack([row[place] for row in rows]) for place, output in enumerate(names)}
    graph = [cpu.run(program.view, {tensor: values[index] for tensor, values in inputs.items()}) for index in range(count)]
    return program, ours, {output: numpy.stack([values[output] for values in graph]) for output in names}, theirs


def relative(one, other) -> float:
    return float(numpy.abs(one.astype(numpy.float64) - other).max() / numpy.abs(other).max())


@pytest.mark.parametrize("name", FLOAT)
def test_a_float_model_equals_onnxruntime(name, tmp_path):
    _, ours, meaning, theirs = results(name, tmp_path)
    for output in theirs:
        assert relative(ours[output], meaning[output]) <= 1e-4
        # onnxruntime's Sigmoid is an approximation: probabilities of 1e-6 are wrong by 1e-7 there.
        numpy.testing.assert_allclose(ours[output], theirs[output], rtol=0, atol=1e-4 * numpy.abs(theirs[output]).max() + 1e-6)


@pytest.mark.parametrize("name", INTEGER)
def test_a_model_with_integer_operators_equals_onnxruntime(name, tmp_path):
    _, ours, _, theirs = results(name, tmp_path)
    assert max(relative(ours[output], theirs[output]) for output in theirs) <= 1e-4


@pytest.mark.parametrize("name", sorted(QUANTIZED))
def test_a_quantized_model_equals_its_meaning_and_nearly_onnxruntime(name, tmp_path):
    _, ours, meaning, theirs = results(name, tmp_path)
    for output in theirs:
        assert numpy.array_equal(ours[output], meaning[output])
        assert numpy.abs(ours[output] - theirs[output]).max() <= QUANTIZED[name] / 256


# Images of 320 x 240 as floats: arrays of the firmware and arena do not fit the 4 MB that the board uses by itself.
BOARD_WITH_LARGE_MEMORY = 'title = "AN386, data in the PSRAM"\nextends = "mps2-an386"\ndata = "PSRAM"\n'
# On an emulated core under AIDGE_STRESS=1; the two spellings of one key word network become the same kernels.
LONG = (*LARGE, "mobilenet_v2_050_128", "kws_micro_m_int8_qdq")


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize("name", [name for name in (*FLOAT, *INTEGER, *sorted(QUANTIZED)) if STRESS or name not in LONG])
def test_a_model_runs_on_an_emulated_cortex_m4_and_equals_its_meaning(name, tmp_path):
    (tmp_path / "large.toml").write_text(BOARD_WITH_LARGE_MEMORY)
    board = load_board("large", [tmp_path]) if name in LARGE else load_board("mps2-an386")
    program = compiled(name, board)
    random = numpy.random.default_rng(len(name))
    inputs = {tensor: random.random((1, *program.view.tensor(tensor).dims), numpy.float32) for tensor in program.view.inputs}
    ours = execute(program, board, inputs, tmp_path).outputs
    meaning = cpu.run(program.view, {tensor: values[0] for tensor, values in inputs.items()})
    for output in program.view.outputs:
        if name in QUANTIZED:
            assert numpy.array_equal(ours[output][0], meaning[output])
        else:
            assert relative(ours[output][0], meaning[output]) <= 2e-5


@pytest.mark.parametrize(
    "name, reason",
    [
        ("bad_toycar_int8_gemm", r"\(Gemm, number 0\): input 0 \('input_1'\) is int8, Gemm wants"),
        ("bad_mnist_opset1", "opset 1 is not supported"),
    ],
)
def test_a_bad_model_is_refused_with_the_reason(name, reason, tmp_path):
    found = aidge_build("compile", shared(WILD / f"{name}.onnx"), "--name", "bad", "--board", "host", "--out", tmp_path)
    assert found.exit_code == 2 and list(tmp_path.iterdir()) == []
    assert re.search(reason, found.stderr), found.stderr
