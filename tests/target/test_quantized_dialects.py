# SPDX-License-Identifier: MIT
"""Two float models quantized by onnxruntime as QDQ and QOperator, int8 and uint8, per tensor and channel: in integers, right."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy
import onnx
import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import import_model
from aidge_build.contract.reference.cpu import run
from aidge_build.graph.dtype import DType
from aidge_build.graph.view import GraphView
from aidge_build.operators.linear import LinearQuantized
from aidge_build.plan.program import Program
from aidge_build.run.verify.firmware import execute
from tests.compiled import program_of, request_of
from tests.dialects import SPELLINGS, distances, every_tensor, quantized
from tests.models import model
from tests.programs import needs_cross_compiler, needs_qemu
from tests.shared import float_model

pytest.importorskip("onnxruntime")
MODELS = ("kws_dscnn", "ic_resnet8")
STRESS = "AIDGE_STRESS" in os.environ
# All spellings become the same code but for the numbers, as the layers of the smaller network say; these have no part in common.
TWO = ("QDQ-QInt8-per_channel", "QOperator-QUInt8-per_tensor")
SOME = SPELLINGS if STRESS else TWO
IMPORTED = [(name, each) for name in MODELS for each in (SPELLINGS if name == MODELS[0] else SOME)]
CALIBRATION, VECTORS = 4, 6
MOST_OFF = 0.001  # of a tensor's values may be off by one level, or a single one: onnxruntime computes QDQ nodes in float
MOST_OFF_16 = 0.005  # its sums in float32 are not much finer than 16-bit levels


@cache
def vectors_of(name: str) -> numpy.ndarray:
    dims = [size.dim_value or 1 for size in onnx.load(float_model(name)).graph.input[0].type.tensor_type.shape.dim]
    return numpy.random.default_rng(1).normal(size=(VECTORS, *dims)).astype(numpy.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("dialects")


def model_of(name: str, spelling: str, folder: Path) -> Path:
    path = folder / f"{name}_{spelling}.onnx"
    return path if path.exists() else quantized(float_model(name), path, spelling, vectors_of(name)[:CALIBRATION])


def view_of(path: Path) -> GraphView:
    """The graph before libraries fuse nodes."""
    return import_model(request_of(path.read_bytes(), path.name, load_board("host")))[0]


@pytest.mark.parametrize("name, spelling", IMPORTED)
def test_everything_between_the_first_and_the_last_node_is_computed_in_integers(name, spelling, folder):
    path = model_of(name, spelling, folder)
    layers = program_of(path.read_bytes(), path.name, load_board("mps2-an386")).layers
    floats = [
        layer.node.type
        for layer in layers
        if any(
            tensor is not None and tensor.dtype.is_float and not tensor.is_constant for tensor in (*layer.inputs, *layer.outputs)
        )
    ]
    assert floats == ["QuantizeLinear", "DequantizeLinear"]
    assert {tensor.dtype for layer in layers for tensor in layer.outputs} == {DType.int8, DType.float32}


@pytest.mark.parametrize("name, spelling", [*IMPORTED, ("kws_dscnn", "QDQ-QInt16-per_channel")])
def test_each_layer_equals_onnxruntime_without_optimisations(name, spelling, folder):
    path = model_of(name, spelling, folder)
    view = view_of(path)
    off: dict[str, list[numpy.ndarray]] = {}
    for vector in vectors_of(name):
        for tensor, distance in distances(view, every_tensor(path, vector)).items():
            off.setdefault(tensor, []).append(distance)
    assert len(off) >= len([node for node in view.nodes if not node.operator.views]) - 2
    for tensor, found in off.items():
        every = numpy.concatenate([distance.reshape(-1) for distance in found])
        allowed = 0 if "QOperator" in spelling else max(1, every.size * (MOST_OFF_16 if "QInt16" in spelling else MOST_OFF))
        assert every.max() <= 1 and every.sum() <= allowed, f"{tensor}: {numpy.bincount(every).tolist()}"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_whole_network_chooses_the_same_class_as_onnxruntime(spelling, folder):
    path = model_of("kws_dscnn", spelling, folder)
    view = view_of(path)
    (source,), (result,) = view.inputs, view.outputs
    for vector in vectors_of("kws_dscnn"):
        theirs = every_tensor(path, vector)[result].reshape(-1)
        ours = run(view, {source: vector})[result].reshape(-1)
        first, second = numpy.sort(theirs)[::-1][:2]
        assert first - second <= 1 / 256 or ours.argmax() == theirs.argmax()


@pytest.mark.parametrize("spelling", SOME)
def test_generated_code_equals_the_numpy_backend(spelling, folder, tmp_path):
    check_code("kws_dscnn", spelling, "host", folder, tmp_path)


def test_layers_with_16_bit_activations_are_computed_in_integers_and_the_rest_within_one_level(folder, tmp_path):
    program = check_code("kws_dscnn", "QDQ-QInt16-per_channel", "host", folder, tmp_path, most=1)
    linear = [layer for layer in program.layers if isinstance(layer.node.operator, LinearQuantized)]
    assert len(linear) == 10 and {layer.outputs[0].dtype for layer in linear} == {DType.int16}


@pytest.mark.parametrize("spelling", SOME)
def test_what_is_left_in_float_between_quantized_parts_runs_in_float(spelling, tmp_path):
    random = numpy.random.default_rng(3)
    text = "a = Conv(x, u) b = Relu(a) c = Conv(b, v) d = Softplus(c) e = Conv(d, w) y = Relu(e)"
    made = onnx.load_from_string(
        model(
            text,
            inputs="float[1,3,9,9] x",
            outputs="float[1,4,3,3] y",
            opset=17,
            constants={
                name: random.normal(size=dims).astype(numpy.float32) / 4
                for name, dims in (("u", (6, 3, 3, 3)), ("v", (5, 6, 3, 3)), ("w", (4, 5, 3, 3)))
            },
        )
    )
    for node in made.graph.node:
        node.name = f"makes_{node.output[0]}"
    onnx.save(made, tmp_path / "float.onnx")
    vectors = random.normal(size=(VECTORS, 1, 3, 9, 9)).astype(numpy.float32)
    path = quantized(tmp_path / "float.onnx", tmp_path / "mixed.onnx", spelling, vectors, left=("makes_c", "makes_d"))
    board = load_board("host")
    program = program_of(path.read_bytes(), path.name, board)
    convolutions = [layer.inputs[0].dtype for layer in program.layers if layer.node.type.startswith("Conv")]
    assert convolutions == [DType.int8, DType.float32, DType.int8]
    ours = execute(program, board, {"x": vectors}, tmp_path).outputs["y"]
    (level,) = program.layers[-1].inputs[0].quantization.scales
    assert ours.max() > 50 * level
    for index, vector in enumerate(vectors):
        numpy.testing.assert_allclose(ours[index], run(program.view, {"x": vector})["y"], rtol=0, atol=1.01 * level)
        numpy.testing.assert_allclose(ours[index], every_tensor(path, vector)["y"], rtol=0, atol=1.01 * level)


@needs_cross_compiler
@needs_qemu
@pytest.mark.parametrize(
    "name, spelling, board",
    [
        ("kws_dscnn", "QOperator-QUInt8-per_channel", "mps2-an386"),
        ("kws_dscnn", "QDQ-QUInt8-per_channel", "mps3-an547"),
        *([("ic_resnet8", TWO[1], "mps2-an386")] if STRESS else []),
    ],
)
def test_generated_code_equals_the_numpy_backend_on_emulated_boards(name, spelling, board, folder, tmp_path):
    check_code(name, spelling, board, folder, tmp_path)


def check_code(name: str, spelling: str, board: str, folder: Path, work: Path, most: int = 0) -> Program:
    """Every layer of the generated code, on two vectors, differs from the numpy backend by at most `most` levels."""
    path = model_of(name, spelling, folder)
    program = program_of(path.read_bytes(), path.name, load_board(board))
    (source,), vectors = program.view.inputs, vectors_of(name)[:2]
    found = execute(program, load_board(board), {source: vectors}, work, trace=True)
    for index, vector in enumerate(vectors):
        wanted = run(program.view, {source: vector})
        for tensor, values in {**found.trace, **found.outputs}.items():
            if program.view.tensor(tensor).dtype.is_float:
                numpy.testing.assert_allclose(values[index], wanted[tensor], rtol=1e-6, atol=most * 1e-3)
            else:
                assert numpy.abs(values[index].astype(int) - wanted[tensor]).max() <= most, tensor
    return program
