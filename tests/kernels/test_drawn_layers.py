# SPDX-License-Identifier: MIT
"""Layers of shapes that nobody chose, against their meaning and with guards: kernels, strides and pads uneven. Linear ones of
int8 with weights of 9, 8 and fewer bits, of bytes with results in float32, of float32 and of int16, and pools.

AIDGE_STRESS=1 draws many more, and from AIDGE_FIRST_SEED on others.
"""

from __future__ import annotations

import functools
import math
import os
import shutil
from dataclasses import dataclass, replace

import armv6m_harness
import armv7m_harness
import cortexm_harness
import dynamic_cases
import helium_harness
import numpy
import pytest
import rv32_harness
import rvv_harness
from helium_harness import Case
from random_tensors import Randomness, of_few_bits

from aidge_build.boards.cores import WIDE_POINTERS
from aidge_build.build.ordering.texts import ordered_text
from aidge_build.contract.call import Call
from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import per_tensor
from aidge_build.graph.tensor import Tensor, constant
from aidge_build.operators.conv import Conv
from aidge_build.operators.dynamic import DynamicConv
from aidge_build.operators.pool import AvgPooling, MaxPooling
from aidge_build.operators.window import Window
from aidge_build.prove.timing.table import load_timing
from tests.instruction_values import differences

STRESS = "AIDGE_STRESS" in os.environ
FIRST = int(os.environ.get("AIDGE_FIRST_SEED", "0"))
COUNT = 100 if STRESS else 12


class RefCase(Case):
    library_name, features = "ref", frozenset()


def ordered(kind: type[Case], core: str) -> type[Case]:
    """The kind of case with the instructions of its kernels in the order for a core."""

    class Ordered(kind):
        @functools.cached_property
        def call(self) -> Call:
            call, table = super().call, load_timing(core)
            texts = [ordered_text(text, table) for text in call.texts]
            assert [fault for old, new in zip(call.texts, texts) for fault in differences(old, new)] == []
            return replace(call, texts=tuple(texts))

    return Ordered


LIBRARIES = {
    "ref": (RefCase, None),
    "cortexm": (ordered(cortexm_harness.Case, "cortex-m7"), cortexm_harness.BOARD),
    "helium": (ordered(Case, "cortex-m55"), "mps3-an547"),
    "armv7m": (armv7m_harness.Case, armv7m_harness.BOARD),
    "armv6m": (armv6m_harness.Case, armv6m_harness.BOARD),
    "rv32": (rv32_harness.Case, rv32_harness.BOARD),
    "rvv": (rvv_harness.Case, rvv_harness.BOARD),
}
if STRESS:
    LIBRARIES["rv32e"] = rv32_harness.Case16, rv32_harness.BOARD_OF_16
NEEDS = dict.fromkeys(("rv32", "rvv", "rv32e"), rv32_harness.needs_riscv)
CLAMPS = ((-math.inf, math.inf), (0.0, math.inf), (0.0, 6.0), (-1.0, 1.5))
needs_compiler = pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
BOARDS = [
    pytest.param(library, board, marks=NEEDS.get(library, needs_compiler), id=library)
    for library, (_, board) in LIBRARIES.items()
    if board
]


@dataclass(frozen=True)
class Shape:
    """A convolution over one or two axes: depthwise, with groups, with several outputs for each channel, or dense."""

    channels: int
    outputs: int
    spatial: tuple[int, ...]
    window: Window
    groups: int

    @classmethod
    def drawn(cls, random: Randomness) -> Shape:
        """Any."""
        rank, channels = random.choice(1, 2, 2, 2), random.integer(1, random.choice(8, 20, 70))
        groups = random.choice(
            channels, channels, 1, 1, random.choice(*(part for part in range(1, channels + 1) if channels % part == 0))
        )
        most = max(1, 40 // groups)
        outputs = channels if groups == channels and random.integer(0, 3) else groups * random.integer(1, most)
        kernel = tuple(random.integer(1, random.choice(3, 5, 7)) for _ in range(rank))
        strides, dilations = (tuple(random.choice(1, 1, 2, 3) for _ in range(rank)) for _ in range(2))
        dilations = dilations if random.integer(0, 3) == 0 else (1,) * rank
        before, behind = (tuple(random.integer(0, size - 1) for size in kernel) for _ in range(2))
        extents = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations)]
        spatial = tuple(max(1, extent - sum(pads) + random.integer(0, 7)) for extent, *pads in zip(extents, before, behind))
        return cls(channels, outputs, spatial, Window(kernel, strides, dilations, before, behind), groups)

    def convolution(self, random: Randomness) -> Conv:
        """Of this shape, with any clamp."""
        low, high = random.choice(*CLAMPS)
        depthwise = 1 < self.groups == self.channels == self.outputs
        return Conv(minimum=low, maximum=high, window=self.window, groups=self.groups, depthwise=depthwise)

    @property
    def weight_dims(self) -> tuple[int, ...]:
        return self.outputs, self.channels // self.groups, *self.window.kernel


def layer(seed: int) -> Case:
    """int8, of every third seed with weights of 9 bits, of others with weights of few bits."""
    random = Randomness(seed)
    shape = Shape.drawn(random)
    data, weights = random.data(1, shape.channels, *shape.spatial), random.weights(*shape.weight_dims)
    operator = shape.convolution(random)
    around = 0.05 * 0.01 * 50 * math.sqrt(weights.data[0].size)
    if seed % 3 == 1:
        weights = of_few_bits(weights, *random.choice((4, -8), (4, -7), (2, -2), (2, -1), (1, -1)))
    inputs = [data, weights, random.bias(shape.outputs)]
    made = helium_harness.case(operator, inputs, [random.int8(*data.dims)], quantization=random.quantization(around))
    made = Case(replace(made.view, packs_weights=True), made.values)
    return helium_harness.with_offsets(made, seed) if seed % 3 == 2 else made


def dynamic_layer(seed: int) -> Case:
    """Of bytes, with a result in float32."""
    random = Randomness(seed)
    shape = Shape.drawn(random)
    low, high = dynamic_cases.CLAMPS[random.integer(0, 2)]
    operator = DynamicConv(minimum=low, maximum=high, window=shape.window, groups=shape.groups)
    dims = random.integer(1, 2), shape.channels, *shape.spatial
    return dynamic_cases.layer(helium_harness.case, seed, operator, dims, shape.weight_dims, random.integer(0, 3) == 0)


def real_layer(seed: int) -> Case:
    """Of float32."""
    random = Randomness(seed)
    shape = Shape.drawn(random)
    data, weights = random.real(random.integer(1, 2), shape.channels, *shape.spatial), random.float32(*shape.weight_dims)
    bias = random.choice(None, constant("b", random.float32(shape.outputs)))
    inputs = [data, constant("w", weights / numpy.float32(math.sqrt(weights[0].size))), bias]
    return helium_harness.case(shape.convolution(random), inputs, [random.float32(*data.dims)])


def halfword_layer(seed: int) -> Case:
    """Of int16."""
    random = Randomness(seed)
    shape = Shape.drawn(random)
    dims = 1, shape.channels, *shape.spatial
    data = Tensor("x", dims, DType.int16, quantization=per_tensor(random.scale(2e-4), random.choice(0, 0, 77)))
    values = random.numbers.integers(-32768, 32768, dims).astype(numpy.int16)
    weights, bias = random.weights(*shape.weight_dims), random.bias(shape.outputs)
    around = 2e-4 * 0.01 * 40 * math.sqrt(weights.data[0].size)
    quantization = per_tensor(random.scale(around), random.choice(0, 0, -5))
    return helium_harness.case(shape.convolution(random), [data, weights, bias], [values], quantization=quantization)


def pool(seed: int) -> Case:
    """Means and maxima of int8 and float32."""
    random = Randomness(seed)
    shape = Shape.drawn(random)
    low, high = random.choice(*CLAMPS)
    window = replace(shape.window, dilations=(1,) * len(shape.spatial))
    kind, dims = random.choice(AvgPooling, MaxPooling), (random.integer(1, 2), shape.channels, *shape.spatial)
    operator = kind(minimum=low, maximum=high, window=window)
    if random.integer(0, 1):
        return helium_harness.case(operator, [random.real(*dims)], [random.float32(*dims)])
    data = random.data(*dims)
    quantization = data.quantization if kind is MaxPooling else random.quantization(0.03)
    return helium_harness.case(operator, [data], [random.int8(*dims)], quantization=quantization)


KINDS = (layer, dynamic_layer, real_layer, halfword_layer, pool)


@functools.cache
def drawn(library: str, further: frozenset[str] = frozenset()) -> tuple[Case, ...]:
    """The layers that the library takes, on a core that has `further` features."""
    kind, seeds = LIBRARIES[library][0], range(FIRST, FIRST + COUNT)
    own = type("OwnCase", (kind,), {"features": kind.features | further})
    layers = [make(seed) for make in KINDS for seed in seeds]
    return tuple(cortexm_harness.taken([own(one.view, one.values) for one in layers]))


@pytest.mark.parametrize("library", ["ref", "cortexm"])  # the others have no C versions
def test_the_c_versions_of_drawn_layers_equal_the_meaning_and_write_nowhere_else(library):
    layers = [entry for entry in drawn(library, frozenset({WIDE_POINTERS})) if entry.kernel.assembly != "needed"]
    assert len(layers) > COUNT // 2
    assert helium_harness.run(layers, board="host") == []


@pytest.mark.parametrize("library, board", BOARDS)
def test_drawn_layers_equal_the_meaning_on_the_emulated_core_and_write_nowhere_else(library, board):
    assert helium_harness.run(drawn(library), board=board) == []
