# SPDX-License-Identifier: MIT
"""int8 layers of `cortexm` under the contract of TensorFlow Lite's reference kernels, against their numpy meaning."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import replace

import numpy
import test_cortexm_elementwise
import test_cortexm_grouped
import test_cortexm_linear
from binary_cases import binary
from cortexm_harness import BOARD, BOARD_WITHOUT_FPU, CaseWithoutFpu, accepted, case, run, taken
from harness import under_double
from random_tensors import Randomness
from test_cortexm_linear import int8_case, needs_compiler
from test_ref_double import with_scale

from aidge_build.contract.kernel_kit.binary_int8 import meaning_of_pairs
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import constant
from aidge_build.operators.binary import Sub
from aidge_build.operators.pool import GlobalAveragePooling

STRESS = "AIDGE_STRESS" in os.environ
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror")


def mixed_cases():
    """Layers whose first channels have few steps, which a line goes through; streams as long as each other, or not."""
    for seed, (groups, pads) in enumerate(((2, (1, 1)), (1, (1, 1)), (8, (1, 1)))):
        entry = int8_case(seed, 1, 8, (5, 6), 8, (3, 3), 1, 1, pads, groups)
        weights = entry.view.inputs[1]
        few = weights.data.copy()
        few[:4] //= 100
        view = replace(entry.view, inputs=(entry.view.inputs[0], constant("w", few, weights.quantization), entry.view.inputs[2]))
        view = replace(view, node=view.node.with_(operator=replace(view.operator, minimum=-math.inf, maximum=math.inf)))
        values = (entry.values[0], few, entry.values[2])
        yield with_scale(type(entry)(view, values), 4.0)


@functools.cache
def candidates():
    """Layers of every kernel; outputs that reach far below the zero point, where halves go the other way."""
    every = [
        *test_cortexm_linear.candidates()[:: 1 if STRESS else 9],
        *test_cortexm_linear.extreme_cases(),
        *list(test_cortexm_linear.fc_cases())[:: 1 if STRESS else 2],
        *test_cortexm_linear.narrow_cases()[::3],
        *test_cortexm_grouped.candidates()[:: 1 if STRESS else 18],
        *mixed_cases(),
        *test_cortexm_elementwise.sums_and_products()[:: 1 if STRESS else 11],
        *averages(case),
    ]
    return tuple(taken([under_double(entry) for entry in every]))


@needs_compiler
def test_layers_equal_the_meaning_on_the_emulated_core():
    assert len(candidates()) > 50 and sum(entry.call.function == "aidge_cortexm_average_int8" for entry in candidates()) == 6
    assert run(candidates(), board=BOARD) == []


@needs_compiler
def test_layers_equal_the_meaning_without_an_fpu():
    soft = accepted([CaseWithoutFpu(entry.view, entry.values) for entry in candidates()[:: 1 if STRESS else 4]])
    assert any("_soft_twice" in entry.call.function for entry in soft)
    assert run(soft, board=BOARD_WITHOUT_FPU) == []


def test_every_way_of_rounding_is_among_them():
    functions = [entry.call.function for entry in candidates()]
    for form in ("_twice", "_once", "packed_s", "wide_s", "packed_words_s", "_clamped_twice", "_even_twice", "depthwise_int8"):
        assert any(form in function for function in functions), form
    assert any("depthwise_int8" in function and "_twice" in function for function in functions)


def test_sums_are_proved_for_what_this_contract_means_by_them():
    """These scales have factors under both contracts, and a pair of values whose sum differs."""
    plain = binary(case, 11, Sub, (1, 32), (1, 32))
    pair = [plain, under_double(plain)]
    assert not numpy.array_equal(*(meaning_of_pairs(entry.view.operator, *quantizations(entry)) for entry in pair))
    assert [len(accepted([entry])) for entry in pair] == [1, 1]
    assert not numpy.array_equal(*(entry.call.arguments[3].values for entry in pair))


def quantizations(entry):
    return [tensor.quantization for tensor in (*entry.view.inputs, *entry.view.outputs)]


def averages(case):
    """Means of the whole map, of few and of many values; sums of both signs at the middle of two levels."""
    for seed, dims in enumerate(((1, 64, 5, 5), (2, 4, 8, 8), (1, 7, 3, 1), (1, 9, 16, 17), (1, 33, 6), (1, 8, 1, 4))):
        random = Randomness(seed)
        data, operator = random.data(*dims), GlobalAveragePooling(minimum=(-math.inf, -1.0)[seed % 2])
        yield under_double(case(operator, [data], [random.int8(*dims) // 16], quantization=data.quantization))


def test_functions_that_are_called_alike_are_alike_under_both_contracts():
    """Where all channels are proved, both contracts have the same text: in one program it is defined once."""
    plain = [entry for entry in accepted(test_cortexm_linear.narrow_cases()) if "depthwise_int8" in entry.call.function]
    functions: dict[str, set] = {}
    for entry in (*plain, *accepted([under_double(entry) for entry in plain])):
        functions.setdefault(entry.call.function, set()).add(entry.call.texts)
    assert len(plain) < len(functions) < 2 * len(plain)  # some are the same, some are not
    assert [function for function, texts in functions.items() if len(texts) > 1] == []


def test_layers_of_one_sign_need_nothing_but_the_proved_form():
    """No level lies below the zero point, so that a line goes through all steps; with levels on both sides none does."""
    entry = int8_case(1, 1, 8, (6, 6), 8, (3, 3), 1, 1, (1, 1), 1)
    epilogues = []
    for zero_point in (-128, 0):
        output = entry.view.outputs[0].with_(quantization=Quantization((0.4,), (zero_point,), rounding="double"))
        view = replace(
            entry.view, node=entry.view.node.with_(operator=replace(entry.view.operator, minimum=0.0, maximum=math.inf))
        )
        epilogues.append(type(entry)(replace(view, outputs=(output,)), entry.values).call.facts["epilogue"])
    assert epilogues == ["integer", "fixed point"]


def test_a_factor_of_one_half_is_left_to_ref():
    entry = under_double(int8_case(1, 1, 8, (3, 3), 8, (3, 3), 1, 1, (1, 1), 1))
    assert accepted([with_scale(entry, 0.02)]) and not accepted([with_scale(entry, 2.0**-20)])
