# SPDX-License-Identifier: MIT
"""float32 kernels of `rvv` within tolerance of numpy, on an emulated core, with the same bytes for vectors of every length."""

from __future__ import annotations

import functools
import math

import numpy
import test_cortexm_float_values
import test_cortexm_pools_float
from float_cases import CLAMPS, DEPTHWISE, EDGES, ROWS, convolution, depthwise, fully_connected
from helium_harness import build, executed
from random_tensors import Randomness
from rvv_harness import BOARD, accepted, case, needs_riscv, taken, with_vectors

from aidge_build.operators.activation import Clip, HardSigmoid, HardSwish, ReLU
from aidge_build.operators.matmul import MatMul

MATRICES = [((1, 8), (8, 2)), ((3, 7), (7, 33)), ((16, 48), (48, 16)), ((2, 3, 5, 9), (3, 9, 40)), ((2, 1, 4, 6), (1, 5, 6, 8))]
LARGE = [(1, 16, (5, 9), 70, (3, 3), 1, 1, (1, 1)), (1, 9, (3, 11), 33, (1, 1), 1, 1, (0, 0))]


def products():
    for seed, (first, second) in enumerate(MATRICES):
        random = Randomness(seed)
        tensors = [random.real(*dims, name=name) for dims, name in zip((first, second), "ab")]
        yield case(MatMul(), tensors, [random.float32(*dims) for dims in (first, second)])


def functions():
    values = numpy.array([[math.nan, -math.inf, math.inf, -0.0, *Randomness(1).float32(90)]], numpy.float32)
    for operator in (ReLU(), HardSigmoid(), HardSwish(), *(Clip(minimum=low, maximum=high) for low, high in CLAMPS)):
        yield case(operator, [Randomness(0).real(*values.shape)], [values])


@functools.cache
def candidates():
    cases = [convolution(case, seed, *edge) for seed, edge in enumerate([*EDGES, *LARGE])]
    cases += [depthwise(case, seed, *edge) for seed, edge in enumerate(DEPTHWISE)]
    cases += [fully_connected(case, seed, *shape) for seed, shape in enumerate([*ROWS, (9, 40, 70)])]
    others = *test_cortexm_pools_float.candidates(), *test_cortexm_float_values.pairs()
    return accepted([*cases, *products(), *functions(), *map(taken, others)])


def test_the_cases_reach_every_kernel():
    kinds = {entry.call.function.removeprefix("aidge_rvv_").partition("_float32")[0] for entry in candidates()}
    assert kinds == {"dense", "depthwise", "add", "sub", "mul", "div", "clamp", "hardsigmoid", "hardswish", "maxpool2d", "mean"}
    names = {entry.view.node.type for entry in candidates()}
    assert {"Conv1D", "Conv2D", "FC", "MatMul", "ConvDepthWise1D", "GlobalAveragePooling"} <= names


def test_functions_of_one_name_are_of_one_text():
    calls = [entry.call for entry in candidates()]
    texts = {text for call in calls for text in call.texts}
    assert len({text.partition("(")[0] for text in texts}) == len(texts)


@needs_riscv
def test_results_are_within_tolerance_and_the_same_for_every_length_of_vectors(tmp_path):
    elf = build(candidates(), tmp_path, "-Wall", "-Wextra", "-Werror", board=BOARD)
    results = set()
    for bits in (128, 256, 1024):
        assert executed(elf, candidates(), tmp_path, with_vectors(bits)) == []
        results.add((tmp_path / "output.bin").read_bytes())
    assert len(results) == 1
