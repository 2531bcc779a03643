# SPDX-License-Identifier: MIT
"""The layers of models in the wild, by the kernel that a board's libraries choose, on the emulated core: with int8 and random
numbers bit for bit as their numpy meaning, and as the float32 layers that they are.

Channels, windows, strides and pads are those of the models; images of more than 24 rows or columns are cut. A few small models;
AIDGE_STRESS=1 (`./sconsw stress`) takes all.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass

import armv7m_harness
import cortexm_harness
import harness
import helium_harness
import numpy
import pytest
from helium_harness import needs_emulator
from random_tensors import Randomness

from aidge_build.build.compile import import_model
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.graph.tensor import constant
from aidge_build.operators.base import Operator
from aidge_build.operators.matmul import FC
from tests.shared import SHARED, shared

ALL = (
    "kws_micro_m_int8_qdq",
    "kws_micro_m_int8_qoperator",
    "mnist14_tiny_cnn",
    "mnist5x5_dynamic_quant",
    "mnist_cntk",
    "mnist_cntk_integer_ops",
    "mobilenet_v2_050_128",
    "prelu_concat_dynbatch",
    "streaming_tcn",
    "ultraface_slim_320",
    "yamnet_256_esc10",
    "yunet_s_320",
)
STRESS = "AIDGE_STRESS" in os.environ
MODELS = ALL if STRESS else ("kws_micro_m_int8_qdq", "mnist14_tiny_cnn", "mnist5x5_dynamic_quant", "streaming_tcn")
LONGEST = 24  # of the image's sides: a longer one becomes 20 to 23 with the same rest modulo 4
LINEAR = ("Conv1D", "Conv2D", "ConvDepthWise1D", "ConvDepthWise2D", "FC")
POOLS = ("AvgPooling1D", "AvgPooling2D", "MaxPooling1D", "MaxPooling2D", "GlobalAveragePooling", "GlobalMaxPooling")
LAYERS_TOGETHER = 40


@dataclass(frozen=True)
class Layer:
    """A layer's operator, the dims of its data, and those of its weights (none: a pool)."""

    operator: Operator
    data: tuple[int, ...]
    weights: tuple[int, ...] | None = None

    @property
    def taps(self) -> int:
        return math.prod(self.weights[1:]) if self.weights else 1


@functools.cache
def layers() -> tuple[Layer, ...]:
    """The distinct layers of the models after all recipes."""
    return tuple(dict.fromkeys(layer for name in MODELS for layer in _layers_of(name)))


def _layers_of(name: str) -> Iterator[Layer]:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    path = shared(SHARED / "models" / "wild" / f"{name}.onnx")
    view, _ = import_model(load(parser.parse_args([str(path), "--constant-channels", "off"]), "wild"))
    for node in view.nodes:
        dims = [view.tensor(name).dims for name in node.inputs if name]
        if node.type in LINEAR:
            yield Layer(node.operator, _cut(dims[0]), dims[1])
        elif node.type in POOLS:
            yield Layer(node.operator, _cut(dims[0]))
        elif node.type == "MatMulInteger":
            yield Layer(FC(), dims[0], dims[1][::-1])


def _cut(dims: tuple[int, ...]) -> tuple[int, ...]:
    return (*dims[:2], *(size if size <= LONGEST else LONGEST - 4 + size % 4 for size in dims[2:]))


def int8_case(seed: int, layer: Layer) -> harness.Case:
    random = Randomness(seed)
    data = random.data(*layer.data)
    if layer.weights is None:
        quantization = data.quantization if "Max" in layer.operator.type else random.quantization(0.03)
        return harness.case(layer.operator, [data], [random.int8(*data.dims)], quantization=quantization)
    weights = random.weights(*layer.weights)
    weights = constant("w", numpy.maximum(weights.data, -127), weights.quantization)  # as quantizers make them
    return harness.case(
        layer.operator,
        [data, weights, random.bias(layer.weights[0])],
        [random.int8(*data.dims)],
        quantization=random.quantization(0.05 * 0.01 * 50 * math.sqrt(layer.taps)),
    )


def float_case(seed: int, layer: Layer) -> harness.Case:
    random = Randomness(seed)
    data, values = random.real(*layer.data), random.float32(*layer.data)
    if layer.weights is None:
        return harness.case(layer.operator, [data], [values])
    weights = constant("w", random.float32(*layer.weights) / numpy.float32(math.sqrt(layer.taps)))
    return harness.case(layer.operator, [data, weights, random.bias(layer.weights[0], "float32")], [values])


class RefCase(helium_harness.Case):
    library_name = "ref"


def chosen(made: harness.Case, first: type[helium_harness.Case]) -> helium_harness.Case:
    """The case with a kernel of the first library if it has one, else of `ref`."""
    for library_case in (first, RefCase):
        entry = library_case(made.view, made.values)
        if cortexm_harness.accepted([entry]):
            return entry
    raise AssertionError(f"no kernel for {made.view.operator}")


@needs_emulator
@pytest.mark.parametrize("case_of", [int8_case, float_case], ids=["int8", "float"])
@pytest.mark.parametrize(
    "first, board", [(cortexm_harness.Case, "mps2-an386"), (helium_harness.Case, "mps3-an547")], ids=["cortex-m4", "cortex-m55"]
)
def test_layers_of_models_in_the_wild_equal_their_meaning(first, board, case_of):
    cases = [chosen(case_of(seed, layer), first) for seed, layer in enumerate(layers())]
    fast = [entry for entry in cases if entry.library_name != "ref"]
    slow = [entry for entry in cases if entry.library_name == "ref"]
    print(
        f"{len(cases)} layers, {len(fast)} with {first.library_name}; with ref:",
        *(f"\n  {entry.view.operator.type} {entry.view.inputs[0].dims}" for entry in slow),
    )
    has_floats = first is cortexm_harness.Case
    assert len(cases) >= (140 if STRESS else 15) and len(fast) > (len(cases) // 2 if has_floats or case_of is int8_case else -1)
    for some in (fast, slow):
        for start in range(0, len(some), LAYERS_TOGETHER):
            assert helium_harness.run(some[start : start + LAYERS_TOGETHER], board=board) == []


@needs_emulator
def test_int8_layers_of_models_in_the_wild_equal_their_meaning_without_dsp_instructions():
    made = [int8_case(seed, layer) for seed, layer in enumerate(layers())]
    cases = cortexm_harness.accepted(armv7m_harness.of_this_library(made))
    assert len(cases) > len(made) // 2 and {"Conv2D", "ConvDepthWise1D"} <= {entry.view.node.type for entry in cases}
    for start in range(0, len(cases), LAYERS_TOGETHER):
        assert helium_harness.run(cases[start : start + LAYERS_TOGETHER], board=armv7m_harness.BOARD) == []
