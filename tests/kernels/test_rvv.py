# SPDX-License-Identifier: MIT
"""Kernels of `rvv` against their numpy meaning, bit for bit: on an emulated core, with vectors of several lengths.

AIDGE_STRESS=1 (`./sconsw stress`) takes a layer of every function that the candidates of all tests make, under every level of
optimization, with gcc and clang.
"""

from __future__ import annotations

import functools
import itertools
import re

import numpy
import pytest
import test_armv6m_linear
import test_cortexm_linear
import test_single_values
import test_stack
from binary_cases import binaries
from harness import STRESS, under, under_double
from helium_harness import BOARDS, build, executed
from move_cases import concatenations
from pool_cases import edge_pools, pool, random_pool
from product_cases import products
from random_tensors import Randomness
from rv32_harness import COMPILED, compile_with
from rvv_harness import BOARD, BOARD_OF_INTEGERS, accepted, case, needs_riscv, of_integers, run, taken, with_vectors
from test_conversions_without_fpu import dequantize_case

from aidge_build.boards import load_board
from aidge_build.contract.call import Constant
from aidge_build.contract.riscv.instruction import instruction_at
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import constant
from aidge_build.operators.matmul import FC
from aidge_build.operators.pool import GlobalAveragePooling
from aidge_build.prove.elf import read_image

# Batches, channels, image, outputs, kernel, stride, dilation, pads, groups: every number of channels around a vector's and two,
# rows of less pixels than go together, windows of all lengths of a turn and what remains, pads wider than the image.
EDGES = [
    *((1, 3, (3, 4), outputs, (1, 1), 1, 1, (0, 0), 1) for outputs in (2, 3, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 70)),
    *((1, 8, (1, 5), 20, (1, taps), 1, 1, (0, 0), 1) for taps in (1, 2, 3, 4)),
    *((1, channels, (2, 2), 8, (1, 1), 1, 1, (0, 0), 1) for channels in (1, 7, 11, 13, 17, 68)),
    *((2, 5, (height, 6), 12, (3, 3), stride, 1, (1, 1), 1) for height in (1, 5) for stride in (1, 2)),
    (1, 2, (4, 5), 40, (3, 1), 1, 2, (3, 0), 1),
    (1, 2, (2, 2), 9, (5, 5), 1, 1, (3, 3), 1),
    (1, 16, (20,), 64, (5,), 2, 1, (2, 2), 1),
    (1, 5, (20,), 12, (3,), 1, 4, (4, 4), 1),
    (1, 11, (9, 1), 17, (2, 1), 2, 3, (0, 2), 1),
    *((1, channels, (3, 5), channels, (3, 3), 1, 1, (1, 1), channels) for channels in (8, 13, 16, 17, 32, 33, 70)),
    (2, 24, (7, 9), 24, (5, 2), 2, 2, (4, 1), 24),
    (1, 40, (30,), 40, (9,), 1, 1, (4, 4), 40),
    *((2, 3, (4, 70), outputs, (3, 3), stride, 1, (1, 1), 1) for outputs in (1, 2, 3, 4, 7) for stride in (1, 2)),
    *((1, 4 + outputs, (7, 9), outputs, (1, 1), 1, 1, (0, 0), 1) for outputs in (1, 2, 3, 4)),
    (1, 1, (3, 40), 1, (5, 3), 1, 1, (4, 2), 1),
    (1, 2, (40,), 2, (5,), 3, 1, (2, 0), 1),
    (2, 2, (9, 30), 1, (2, 1), 2, 3, (2, 0), 1),
]


def row_cases():
    """Rows of fully connected layers: weights whose products just fit 16 bits, up to eight together, and inputs at their ends."""
    shapes = [(1, 40), (2, 64), (7, 33), (8, 65), (9, 70), (48, 130), (64, 300)]
    for seed, ((features, outputs), together) in enumerate(itertools.product(shapes, (1, 2, 3, 4, 6, 8))):
        random, size = Randomness(seed), min(255 // together, 128)
        weights = numpy.full((outputs, features), -size, numpy.int8)
        weights[1::2] = random.numbers.integers(-size, size, weights[1::2].shape)
        weights[2::4] = ~weights[2::4]
        values = numpy.full((1, features), -128, numpy.int8) if seed % 4 < 2 else random.int8(1, features)
        scales = Quantization(tuple(random.scale(0.01) for _ in range(outputs)), (0,) * outputs, 0)
        tensors = [random.data(1, features), constant("w", weights, scales), random.bias(outputs)]
        yield case(FC(), tensors, [values], quantization=random.quantization(0.02 * features))


@functools.cache
def sample():
    made = [test_cortexm_linear.int8_case(seed, *edge) for seed, edge in enumerate(EDGES)]
    return accepted([taken(entry) for entry in (*made, *test_armv6m_linear.candidates()[::2], *row_cases())])


@functools.cache
def others():
    pools = [*edge_pools(case), *(random_pool(case, seed) for seed in range(20))]
    values = [*test_single_values.tables(), *test_single_values.quantizations(), *map(dequantize_case, range(3))]
    return accepted([*binaries(case, 24), *pools, *products(case), *concatenations(case, 12, 3), *map(taken, values)])


@functools.cache
def integers():
    """Layers for vectors without floats: all whose products replace sums, and some others."""
    cases = accepted([of_integers(entry) for entry in (*sample(), *others())])
    replaced = [entry for entry in cases if replaced_sums(entry)]
    return [ties(), *replaced, *(entry for entry in cases if entry not in replaced)][: 2 * len(replaced)]


@functools.cache
def ties():
    """A fully connected layer that adds up the sums which its products would round to another level, and their neighbours."""
    random, outputs, features = Randomness(5), 48, 64
    data = random.data(3, features)
    point = data.quantization.zero_point
    weights = numpy.full((outputs, features), 127, numpy.int8)
    weights[:, 0], weights[:, 1::2] = 1, -127
    scales = Quantization(tuple(random.scale(0.01) for _ in range(outputs)), (0,) * outputs, 0)
    result = per_tensor(20.0 * data.quantization.scale, -128)
    values = numpy.full((3, features), point, numpy.int8)
    values[1:, 0] = numpy.clip([point - 1, point + 1], -128, 127)

    def layer(bias):
        inputs = [data, constant("w", weights, scales), constant("b", bias.astype(numpy.int32))]
        return of_integers(case(FC(), inputs, [values], quantization=result))

    entry = layer(numpy.zeros(outputs))
    (numbers,) = (each.values for each in entry.call.arguments if isinstance(each, Constant) and each.name == "numbers")
    wrong = numbers[7 + 3 * outputs : 7 + 4 * outputs]
    assert (wrong != 0).any()
    return layer(wrong)


def replaced_sums(entry):
    """How many sums of a channel the layer replaces before the products."""
    numbers = [each for each in entry.call.arguments if isinstance(each, Constant) and each.name == "numbers"]
    return int(numbers[0].values[6]) if "_even" in entry.call.function else 0


def has_vectors_of_floats(elf):
    """Whether a function has an instruction OPFVV or OPFVF (RISC-V "V", Vector Arithmetic Instruction Formats)."""
    image = read_image(elf)
    for function in (symbol for symbol in image.symbols if symbol.kind == "function"):
        content, place = image.content(function), 0
        while instruction := instruction_at(place, content[place:]):
            word = int.from_bytes(content[place : place + 4], "little")
            if word & 0x7F == 0x57 and word >> 12 & 7 in (1, 5):
                return True
            place = instruction.next
    return False


@functools.cache
def fixed():
    """Layers under the contract `double`."""
    return accepted([under_double(entry) for entry in (*sample(), *edge_pools(case))])


def test_the_cases_reach_sums_of_every_size_and_weights_of_both_widths():
    functions = {entry.call.function for entry in sample()}
    dense = ("dense_int8_bytes_float_m2", "dense_int8_bytes_float_m4", "dense_int8_bytes_float_m8", "dense_int8_words_float")
    few = [f"few_channels_int8_{form}" for form in ("bytes_float_m8_x1", "bytes_float_m8_x3", "bytes_float_m4_x7", "words_float")]
    for form in (*dense, *few, "depthwise_int8_bytes_float"):
        assert any(form in function for function in functions), form
    assert {f"aidge_rvv_fc_row_int8_float_{count}" for count in (2, 3, 4, 6, 8)} <= functions
    assert any("computed" in entry.call.function for entry in others())


def test_short_rows_with_pads_and_means_of_few_channels_are_left_to_scalar_kernels_of_the_same_contract():
    def depthwise(channels, spatial, pads, made=lambda entry: entry):
        return made(taken(test_cortexm_linear.int8_case(0, 1, channels, spatial, channels, (3, 3), 1, 1, pads, channels)))

    def mean(channels):
        return pool(case, 1, GlobalAveragePooling, 1, channels, (6, 5), None, 1)

    scalar = [depthwise(2, (8, 4), (1, 1)), depthwise(3, (8, 2), (0, 1)), mean(1), mean(2)]
    vectors = [depthwise(2, (8, 5), (1, 1)), depthwise(3, (8, 4), (0, 0)), mean(3)]
    assert accepted([*scalar, *vectors, double := depthwise(3, (8, 2), (0, 1), under_double)]) == [*vectors, double]


def test_no_vector_is_stored_to_scattered_addresses_so_that_the_stack_is_proved():
    texts = [text for entry in (*sample(), *others()) for text in entry.call.texts]
    assert [text for text in texts if re.search(r"\bvs(se\d|sseg|[uo]xei|[uo]xseg)", text)] == []


@needs_riscv
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert len(sample()) > 100
    assert run(sample(), board=BOARD) == []


@needs_riscv
def test_layers_under_the_contract_double_equal_the_meaning_on_the_emulated_core():
    functions = [entry.call.function for entry in fixed()]
    assert len(functions) > 100
    sums = ("dense_int8_bytes_twice", "depthwise_int8_bytes_twice", "few_channels_int8_bytes_twice", "fc_row_int8_once")
    for form in (*sums, "average_int8"):
        assert any(form in function for function in functions), form
    assert run(fixed(), board=BOARD) == []


@needs_riscv
def test_pools_products_and_operations_on_values_equal_the_meaning_on_the_emulated_core():
    kinds = {entry.call.function.removesuffix("_layer").removesuffix("_rows") for entry in others()}
    means = {f"aidge_rvv_mean_int8_{order}" for order in ("turn", "columns", "lanes")}
    assert kinds >= {*means, "aidge_rvv_maxpool2d_int8", "aidge_rvv_add_int8", "aidge_rvv_mul_int8", "aidge_rvv_table_bytes"}
    assert len(others()) > 100
    assert run(others(), board=BOARD) == []


@needs_riscv
def test_layers_on_a_core_without_vectors_of_floats_equal_the_meaning_and_use_none(tmp_path):
    cases = integers()
    assert {"conv2d_int8", "depthwise_int8", "fc_int8", "matmul_int8"} <= {entry.kernel.name for entry in cases}
    elf = build(cases, tmp_path, board=BOARD_OF_INTEGERS)
    assert not has_vectors_of_floats(elf)
    assert executed(elf, cases, tmp_path, load_board(BOARD_OF_INTEGERS, BOARDS)) == []
    assert executed(elf, cases, tmp_path, with_vectors(512, BOARD_OF_INTEGERS)) == []


@needs_riscv
@pytest.mark.parametrize("bits", [256, 1024])
def test_the_result_does_not_depend_on_the_length_of_vectors(bits):
    assert run([*sample()[::3], *others()[::3]], board=BOARD, runs_on=with_vectors(bits)) == []


@needs_riscv
@pytest.mark.parametrize("compiler, level", COMPILED if STRESS else [("gcc", "-O0"), ("clang-14", "-O2")])
def test_the_result_does_not_depend_on_the_compiler_and_its_options(compiler, level, monkeypatch):
    compile_with(compiler, BOARD, monkeypatch)
    cases = test_stack.cases_of("rvv") if STRESS else sample()
    assert run(under((level,), cases), level, board=BOARD) == []
