# SPDX-License-Identifier: MIT
"""Weights of 2 and 4 bits are read as the integers that they are, and saturate where their type does."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

from aidge_build.base.errors import AidgeError
from aidge_build.boards import load_board
from aidge_build.build.imported import import_model
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.contract.reference import cpu
from aidge_build.operators import builtin_operators
from aidge_build.operators.matmul_nbits import levels_of_blocks
from aidge_build.prepare.recipes import simplify
from aidge_build.run.verify.firmware import execute
from aidge_build.sources.formats.onnx.importer import import_onnx
from tests.compiled import program_of

KINDS = {"INT4": (-8, 7), "UINT4": (0, 15), "INT2": (-2, 1), "UINT2": (0, 3)}


def packed(values: numpy.ndarray, kind: str, name: str = "w", raw: bool = True) -> TensorProto:
    bits = int(kind[-1])
    flat = values.reshape(-1).astype(int) & (1 << bits) - 1
    together = 8 // bits
    flat = numpy.pad(flat, (0, -flat.size % together)).reshape(-1, together)
    content = (flat << numpy.arange(0, 8, bits)).sum(1).astype(numpy.uint8)
    made = TensorProto(name=name, data_type=getattr(TensorProto, kind), dims=values.shape)
    if raw:
        made.raw_data = content.tobytes()
    else:
        made.int32_data.extend(content.tolist())
    return made


def model(nodes, constants, dims=(2, 6), out=None) -> bytes:
    tensors = [one if isinstance(one, TensorProto) else onnx.numpy_helper.from_array(one[1], one[0]) for one in constants]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)], tensors)
    return helper.make_model(
        graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    ).SerializeToString()


def imported(data: bytes):
    return import_onnx(data, "m", builtin_operators(), {}, {})[0]


X = numpy.random.default_rng(0).normal(size=(2, 6)).astype("f4")
NODE = helper.make_node


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_a_few_bits_are_the_integers_that_they_are(kind, raw):
    low, high = KINDS[kind]
    weights = numpy.arange(18).reshape(3, 6) % (high - low + 1) + low
    nodes = [
        NODE("Transpose", ["w"], ["t"]),
        NODE("DequantizeLinear", ["t", "s", "z"], ["f"], axis=1),
        NODE("MatMul", ["x", "f"], ["y"]),
    ]
    scales, zeros = numpy.array([0.5, 0.25, 2], "f4"), numpy.array([0, low, high])
    view = imported(model(nodes, [packed(weights, kind, raw=raw), ("s", scales), packed(zeros, kind, "z", raw)]))
    wanted = X @ ((weights.T - zeros) * scales)
    for graph in (view, simplify(view)):
        assert numpy.allclose(cpu.run(graph, {"x": X})["y"], wanted, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("channels", [1, 6])
def test_quantizing_to_a_few_bits_saturates_where_they_end(kind, channels):
    (low, high), zero = KINDS[kind], 1
    scales = numpy.linspace(0.1, 0.4, channels).astype("f4")
    zeros = numpy.full(channels, zero)
    constants = [("s", scales if channels > 1 else scales[0]), packed(zeros if channels > 1 else numpy.array(zero), kind, "z")]
    nodes = [NODE("QuantizeLinear", ["x", "s", "z"], ["q"], axis=1), NODE("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1)]
    view = imported(model(nodes, constants, out=(2, 6)))
    around = (numpy.arange(-20, 20, 0.25).reshape(-1, 1, 1) * numpy.ones((1, 2, 6))).astype("f4") * scales
    for x in around:
        levels = numpy.clip(numpy.rint(x / scales) + zero, low, high)
        for graph in (view, simplify(view)):
            assert cpu.run(graph, {"x": x})["y"].tolist() == ((levels - zero).astype("f4") * scales).tolist()


@pytest.mark.requirement("TYPE")
def test_who_would_see_bytes_is_refused_and_so_are_files_of_another_size():
    weights = numpy.zeros((2, 6), int)
    nodes = [NODE("Concat", ["w", "w"], ["c"], axis=0), NODE("DequantizeLinear", ["c", "s"], ["y"])]
    with pytest.raises(AidgeError, match=r"its input 0 \('w'\) has elements of less than a byte"):
        imported(model(nodes, [packed(weights, "INT4"), ("s", numpy.float32(1))]))
    damaged = packed(weights, "INT4")
    damaged.raw_data = damaged.raw_data[1:]
    with pytest.raises(AidgeError, match=r"int8\[2, 6\] wants 6 bytes of 4 bits for each element, the file holds 5"):
        imported(model([NODE("Relu", ["x"], ["y"])], [damaged]))


@pytest.mark.parametrize("bits, depth, with_points", [(4, 64, True), (4, 64, False), (4, 40, True), (8, 32, True), (2, 32, True)])
@pytest.mark.parametrize("level, size, tolerance", [(0, 16, 1e-5), (4, 32, 1e-2)])
def test_products_with_packed_blocks_are_those_of_onnxruntime(bits, depth, with_points, level, size, tolerance):
    """Under level 4 they mostly are to the last bits, but onnxruntime may multiply floats: that depends on the processor."""
    onnxruntime = pytest.importorskip("onnxruntime")
    random, count = numpy.random.default_rng(bits), 5
    blocks = -(-depth // size)
    constants = [("w", random.integers(0, 256, (count, blocks, size * bits // 8)).astype(numpy.uint8)),
                 ("s", random.uniform(0.01, 0.1, (count, blocks)).astype("f4"))]  # fmt: skip
    if with_points:
        constants.append(("z", random.integers(0, 256, (count, -(-blocks * bits // 8))).astype(numpy.uint8)))
    node = NODE("MatMulNBits", ["x", *(name for name, _ in constants)], ["y"], domain="com.microsoft",
                K=depth, N=count, bits=bits, block_size=size, accuracy_level=level)  # fmt: skip
    data = model([node], constants, (3, depth))
    x = random.normal(size=(3, depth)).astype("f4")
    try:
        (theirs,) = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    except Exception as error:  # a width that its build lacks
        pytest.skip(str(error)[:80])
    view = imported(data)
    for graph in (view, simplify(view)):
        assert numpy.abs(cpu.run(graph, {"x": x})["y"] - theirs).max() <= tolerance * numpy.abs(theirs).max()


def test_levels_of_a_block_are_rounded_half_to_even_and_have_a_scale_of_their_own():
    row = numpy.array([[127, 0.5, 1.5, -2.5, 254, 3, -254, 1, 0, 1e-30, 0, 0, 5, numpy.nan, 0, 0, 1]], "f4")
    levels, scales = levels_of_blocks(row, 4)
    assert levels[0].tolist() == [[127, 0, 2, -2], [127, 2, -127, 0], [0] * 4, [0] * 4, [127, 0, 0, 0]]
    assert numpy.array_equal(scales[0], numpy.array([1, 2, 0, numpy.nan, numpy.float32(1) / 127], "f4"), equal_nan=True)


def test_an_option_lets_all_products_with_blocks_multiply_levels(tmp_path):
    path, parser = tmp_path / "packed.onnx", argparse.ArgumentParser()
    path.write_bytes(packed_products())
    add_model_arguments(parser)
    as_stored, by_option = (
        import_model(load(parser.parse_args([str(path), *words]), "packed"))[0] for words in ([], ["--block-data", "int8"])
    )
    operators = [[node.operator for node in view.nodes if node.type == "MatMulNBits"] for view in (as_stored, by_option)]
    assert [one.multiplies_int8 for one in operators[0]] == [False, True, False] and len(operators[1]) == 3
    assert operators[1] == [replace(one, accuracy_level=4) for one in operators[0]]


def test_a_level_of_accuracy_that_does_not_exist_is_refused():
    node = NODE("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=6, N=1, bits=4, block_size=16, accuracy_level=5)
    with pytest.raises(AidgeError, match=r"an accuracy_level of 5 is not supported \(0 to 4 are\)"):
        imported(model([node], [("w", numpy.zeros((1, 1, 8), numpy.uint8)), ("s", numpy.ones(1, "f4"))]))


@pytest.mark.parametrize("form", ["MatMul", "Gemm", "Gemm without bias", "MatMul along the other axis"])
@pytest.mark.parametrize("kind", ["INT4", "UINT2"])
def test_products_with_blocks_of_a_few_bits_leave_them_packed(form, kind):
    (low, high), random = KINDS[kind], numpy.random.default_rng(3)
    gemm, along = form.startswith("Gemm"), 1 if "axis" in form or form.startswith("Gemm") else 0
    dims = (5, 32) if gemm else (32, 16)
    blocks = tuple(size // 8 if axis == along else size for axis, size in enumerate(dims))
    weights, zeros = random.integers(low, high + 1, dims), random.integers(low, high + 1, blocks)
    scales = random.uniform(0.01, 0.1, blocks).astype("f4")
    nodes = [NODE("DequantizeLinear", ["w", "s", "z"], ["f"], axis=along, block_size=8)]
    nodes.append(
        NODE("Gemm", ["x", "f", *(["b"] if form == "Gemm" else [])], ["y"], transB=1)
        if gemm
        else NODE("MatMul", ["x", "f"], ["y"])
    )
    bias = numpy.arange(5, dtype="f4")
    constants = [packed(weights, kind), ("s", scales), packed(zeros, kind, "z"), ("b", bias)]
    view = imported(model(nodes, constants, (3, 32)))
    assert ("MatMulNBits" in [node.type for node in view.nodes]) == ("axis" not in form)
    x = random.normal(size=(3, 32)).astype("f4")
    real = (weights - zeros.repeat(8, along)) * scales.repeat(8, along)
    wanted = x @ (real.T if gemm else real) + (bias if form == "Gemm" else 0)
    for graph in (view, simplify(view)):
        assert numpy.allclose(cpu.run(graph, {"x": x})["y"], wanted, atol=1e-4)


def packed_products() -> bytes:
    """A model with products of all widths."""
    random, constants, nodes = numpy.random.default_rng(5), [], []
    for bits, depth, block in ((4, 40, 16), (2, 64, 32), (8, 24, 8)):
        blocks, name = -(-depth // block), f"n{bits}"
        constants += [
            (f"w{name}", random.integers(0, 256, (3, blocks, block * bits // 8)).astype(numpy.uint8)),
            (f"s{name}", random.uniform(0.01, 0.1, (3, blocks)).astype("f4")),
            (f"z{name}", random.integers(0, 256, (3, -(-blocks * bits // 8))).astype(numpy.uint8)),
            (f"e{name}", numpy.array([depth])),
        ]
        nodes.append(NODE("Slice", ["x", "zero", f"e{name}", "one"], [f"x{name}"]))
        words = {"K": depth, "N": 3, "bits": bits, "block_size": block, "accuracy_level": 4 * (bits == 2)}
        inputs = [f"{letter}{name}" for letter in "xwsz"]
        nodes.append(NODE("MatMulNBits", [*inputs, "", "b"], [f"y{name}"], domain="com.microsoft", **words))
    nodes.append(NODE("Concat", ["yn4", "yn2", "yn8"], ["y"], axis=1))
    more = [("zero", numpy.array([0])), ("one", numpy.array([1])), ("b", numpy.arange(3, dtype="f4"))]
    return model(nodes, [*constants, *more], (2, 64))


def test_generated_code_reads_packed_weights(tmp_path):
    board, x = load_board("host"), numpy.random.default_rng(6).normal(size=(4, 2, 64)).astype("f4")
    program = program_of(packed_products(), "packed.onnx", board)
    found = execute(program, board, {"x": x}, tmp_path).outputs["y"]
    assert {layer.kernel.name for layer in program.layers} >= {"matmul_nbits_float32"}
    wanted = [cpu.run(program.view, {"x": one})["y"] for one in x]
    assert found.shape == (4, 2, 9) and numpy.allclose(found, wanted, atol=1e-4)
