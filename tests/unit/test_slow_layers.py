# SPDX-License-Identifier: MIT
"""A build says in one line which layers are slow, and why; it is silent where none is."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from aidge_build.boards import load_board
from aidge_build.prepare.adaptation.slow_layers import LONGEST_NAME, MOST_NAMED, named
from tests.compiled import program_of
from tests.models import model

F = numpy.float32
PRODUCT = "t = Transpose<perm=[0,2,1]>(x) a = MatMul(x, t) u = Transpose<perm=[0,2,1]>(a) y = MatMul(a, u)"
CONVOLUTION = "y = Conv(x, w)"
WEIGHTS = {"w": numpy.ones((4, 3, 2, 2), F)}


def notices(board: str, nodes: str, inputs: str, outputs: str, constants=None, libs=()) -> list[str]:
    made, on = model(nodes, inputs=inputs, outputs=outputs, constants=constants), load_board(board)
    on = replace(on, libs=libs or on.libs)
    return [line for line in program_of(made, "net.onnx", on).notices if "multiply-accumulate" in line]


def test_all_slow_layers_are_one_line_with_their_kernel_and_the_reason():
    (line,) = notices("mps2-an386", PRODUCT, "float[1,4,8] x", "float[1,4,4] y", libs=("armv6m", "ref"))
    assert line.startswith(
        "2 layers take more than 6 instructions per multiply-accumulate: MatMul_1, MatMul_3 (ref gemm_float32: "
    )
    assert "armv6m: has no kernel for StoredMatMul" in line


def test_a_long_name_is_shortened_and_names_beyond_the_first_ones_are_counted():
    assert named(["n" * LONGEST_NAME, "m" * 41]) == f"{'n' * 40}, {'m' * 40}..."
    assert named([*"abcd"]) == "a, b, c, d" and named([*"abcde"]) == "a, b, c, d and 1 more"


def test_many_layers_of_one_kind_are_counted():
    chain = " ".join(f"a{n + 1} = MatMul(a{n}, a{n})" for n in range(7))
    (line,) = notices("mps2-an386", f"a0 = Identity(x) {chain} y = Relu(a7)", "float[4,4] x", "float[4,4] y", libs=("ref",))
    assert line.startswith("7 layers take") and " and 3 more (ref gemm_float32" in line


@pytest.mark.parametrize(
    "board, is_slow", [("mps2-an386", False), ("mps3-an547", False), ("mps2-an385", True), ("microbit", True), ("host", False)]
)
def test_floats_are_slow_where_there_is_no_fpu(board, is_slow):
    found = notices(board, CONVOLUTION, "float[1,3,5,5] x", "float[1,4,4,4] y", WEIGHTS)
    assert len(found) == is_slow and all("1 layer takes" in line and "float32 on a core without an FPU" in line for line in found)


def test_int16_weights_that_the_kernels_of_a_core_do_not_take_are_named():
    weights = numpy.random.default_rng(1).integers(0, 256, (8, 8, 3, 3)).astype(numpy.uint8)  # 9 bits less their zero point
    constants = {"s": F(0.1), "z": numpy.int8(0), "w": weights, "zw": numpy.uint8(90)}
    nodes = "r = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, zw) a = Conv(r, v) y = QuantizeLinear(a, s, z)"
    made = model(nodes, inputs="int8[1,8,9,9] x", outputs="int8[1,8,7,7] y", constants=constants)
    for board in ("mps2-an386", "mps3-an547", "mps2-an385", "microbit"):
        assert not int16_lines(made, board)
    made = model(
        nodes.replace("Conv(r, v)", "MatMul(r, v)"),
        inputs="int8[1,72] x",
        outputs="int8[1,64] y",
        constants=constants | {"w": weights.reshape(-1)[:576].repeat(8).reshape(72, 64)},
    )
    for board, is_named in (("mps2-an386", False), ("mps3-an547", False), ("mps2-an385", True), ("microbit", False)):
        lines = int16_lines(made, board)
        assert len(lines) == is_named and all("MatMul_2" in line for line in lines)


def int16_lines(made: bytes, board: str) -> list[str]:
    return [line for line in program_of(made, "net.onnx", load_board(board)).notices if "layer has int16 weights" in line]


@pytest.mark.parametrize("is_named", [True, False])
def test_float_weights_behind_quantized_data_are_named(is_named):
    constants = {"s": F(0.1), "z": numpy.int8(0), "w": numpy.random.default_rng(1).normal(0, 1, (4, 3, 2, 2)).astype(F)}
    steps = "" if is_named else "q = QuantizeLinear(w, s, z) v = DequantizeLinear(q, s, z) "
    nodes = f"{steps}r = DequantizeLinear(x, s, z) a = Conv(r, {'w' if is_named else 'v'}) y = QuantizeLinear(a, s, z)"
    made = model(nodes, inputs="int8[1,3,5,5] x", outputs="int8[1,4,4,4] y", constants=constants)
    lines = [line for line in program_of(made, "net.onnx", load_board("mps2-an386")).notices if "float32 weights" in line]
    assert len(lines) == is_named and all("1 layer has float32 weights and quantized data" in line for line in lines)
    assert all("Conv_1;" in line for line in lines)


@pytest.mark.parametrize("is_named", [True, False])
def test_int16_data_that_become_floats_are_named(is_named):
    weights = (
        numpy.random.default_rng(1).normal(0, 1, (4, 3, 2, 2)).astype(F) if is_named else numpy.ones((4, 3, 2, 2), numpy.int8)
    )
    constants = {"s": F(0.1), "z": numpy.int16(0), "o": numpy.int8(0), "w": weights}
    read = "" if is_named else "v = DequantizeLinear(w, s, o) "
    nodes = f"{read}r = DequantizeLinear(x, s, z) a = Conv(r, {'w' if is_named else 'v'}) y = QuantizeLinear(a, s, z)"
    made = model(nodes, inputs="int16[1,3,5,5] x", outputs="int16[1,4,4,4] y", constants=constants, opset=21)
    lines = [line for line in program_of(made, "net.onnx", load_board("mps2-an386")).notices if "int16 data" in line]
    assert len(lines) == is_named and all("1 layer has int16 data, which become floats" in line for line in lines)
    assert all("Conv_1;" in line for line in lines)


def test_a_fast_layer_of_bytes_is_not_named():
    constants = {"s": F(0.1), "z": numpy.int8(0), "w": numpy.ones((4, 3, 2, 2), numpy.int8)}
    nodes = "r = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, z) a = Conv(r, v) y = QuantizeLinear(a, s, z)"
    for board in ("mps2-an386", "mps2-an385"):
        assert notices(board, nodes, "int8[1,3,5,5] x", "int8[1,4,4,4] y", constants) == []


@pytest.mark.parametrize(
    "channels, groups, size, is_slow", [(8, 4, 3, True), (16, 4, 3, True), (64, 2, 3, False), (32, 4, 1, True), (64, 2, 1, False)]
)
def test_grouped_convolutions_are_named_where_groups_are_too_narrow_for_the_portable_kernel(channels, groups, size, is_slow):
    weights = numpy.ones((channels, channels // groups, size, size), numpy.int8)
    constants = {"s": F(0.1), "z": numpy.int8(0), "w": weights}
    nodes = (
        f"r = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, z) a = Conv<group={groups}>(r, v) y = QuantizeLinear(a, s, z)"
    )
    shapes = f"int8[1,{channels},9,9] x", f"int8[1,{channels},{10 - size},{10 - size}] y"
    found = [line for line in notices("mps2-an385", nodes, *shapes, constants) if "ref conv2d_int8" in line]
    assert len(found) == is_slow and all("Conv_2" in line for line in found)
    assert notices("mps2-an386", nodes, *shapes, constants) == []


def test_what_takes_many_16_bit_instructions_is_named_on_cores_that_have_no_others():
    constants = {"s": F(0.1), "z": numpy.int8(0), "w": numpy.ones((4, 1, 7, 7), numpy.int8)}
    nodes = "r = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, z) a = Conv<group=4>(r, v) y = QuantizeLinear(a, s, z)"
    assert notices("mps2-an385", nodes, "int8[1,4,9,9] x", "int8[1,4,3,3] y", constants) == []
    (line,) = notices("microbit", nodes, "int8[1,4,9,9] x", "int8[1,4,3,3] y", constants)
    assert (
        line.startswith("1 layer takes more than 6")
        and "ref depthwise_int8: armv6m depthwise_int8: 49 taps, wants at most 25" in line
    )


def of_bytes(operator, dims, weights, result, constants=None):
    values = numpy.random.default_rng(1).integers(-127, 128, weights).astype(numpy.int8)
    text = f"r = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, z) {operator}"
    return text, f"int8[{dims}] x", f"{result} y", {"s": F(0.05), "z": numpy.int8(0), "w": values}


@pytest.mark.parametrize(
    "layer, kernel",
    [
        (of_bytes("a = Conv<group=2>(r, v) y = QuantizeLinear(a, s, z)", "1,32,9,9", (24, 16, 1, 1), "int8[1,24,9,9]"), ""),
        (of_bytes("a = Conv<group=4>(r, v) y = QuantizeLinear(a, s, z)", "1,16,9,9", (24, 4, 1, 1), "int8[1,24,9,9]"), "conv2d"),
        (of_bytes("a = Conv(r, v) y = QuantizeLinear(a, s, z)", "1,12,9,9", (12, 12, 1, 1), "int8[1,12,9,9]"), ""),
        (of_bytes("a = Conv(r, v) y = QuantizeLinear(a, s, z)", "1,12,1,1", (12, 12, 1, 1), "int8[1,12,1,1]"), "conv2d"),
        (of_bytes("a = Conv(r, v) y = QuantizeLinear(a, s, z)", "1,88,1,1", (22, 88, 1, 1), "int8[1,22,1,1]"), ""),
        (of_bytes("a = Gemm<transB=1>(r, v) y = QuantizeLinear(a, s, z)", "1,67", (29, 67), "int8[1,29]"), ""),
        (of_bytes("a = Gemm<transB=1>(r, v) y = QuantizeLinear(a, s, z)", "1,38", (5, 38), "int8[1,5]"), "fc"),
        (of_bytes("a = Conv<group=8>(r, v) y = QuantizeLinear(a, s, z)", "1,8,17,17", (8, 1, 3, 3), "int8[1,8,15,15]"), ""),
        (
            of_bytes(
                "a = Conv<group=8,strides=[2,2]>(r, v) y = QuantizeLinear(a, s, z)", "1,8,17,17", (8, 1, 3, 3), "int8[1,8,8,8]"
            ),
            "depthwise",
        ),
    ],
)
def test_kernels_for_the_smallest_cores_say_where_few_taps_or_outputs_cost_much(layer, kernel):
    found = notices("microbit", *layer)
    assert notices("microbit", *layer, libs=("armv6m", "ref")) == found  # two libraries, not three
    assert len(found) == bool(kernel) and all(f"(armv6m {kernel}_int8: few taps or outputs" in line for line in found)


@pytest.mark.parametrize("taps, board, is_slow", [(64, "mps2-an385", True), (400, "mps2-an385", False), (400, "microbit", True)])
def test_sums_that_become_floats_are_named_where_that_outweighs_their_taps(taps, board, is_slow):
    layer = of_bytes("y = Gemm<transB=1>(r, v)", f"1,{taps}", (8, taps), "float[1,8]")
    assert ["dynamic_layer" in line for line in notices(board, *layer)] == [True] * is_slow
    assert notices("mps2-an386", *layer) == []


@pytest.mark.parametrize("channels, is_slow", [(3, True), (12, True), (24, False)])
def test_layers_of_few_taps_are_named_where_the_portable_kernel_requantizes_without_an_fpu(channels, is_slow):
    weights = numpy.random.default_rng(1).integers(-127, 128, (12, channels, 1, 1)).astype(numpy.int8)
    made = model(
        "r = DequantizeLinear(x, s, z) v = DequantizeLinear(w, s, z) a = Conv(r, v) y = QuantizeLinear(a, s, z)",
        inputs=f"int8[1,{channels},1,1] x",
        outputs="int8[1,12,1,1] y",
        constants={"s": F(0.05), "z": numpy.int8(0), "w": weights},
    )
    for board, counts in (("mps2-an385", True), ("stm32f4", False)):
        program = program_of(made, "net.onnx", replace(load_board(board), libs=("ref",)))
        assert any("1 layer takes more than 6" in line for line in program.notices) is (is_slow and counts)


def test_names_are_cut_behind_the_longest_and_counted_behind_the_last_that_is_named():
    assert named(["a" * LONGEST_NAME]) == "a" * LONGEST_NAME
    assert named(["a" * (LONGEST_NAME + 1), "b"]) == f"{'a' * LONGEST_NAME}..., b"
    names = [str(number) for number in range(MOST_NAMED + 2)]
    assert named(names[:MOST_NAMED]) == ", ".join(names[:MOST_NAMED])
    assert named(names) == f"{', '.join(names[:MOST_NAMED])} and 2 more"
