# SPDX-License-Identifier: MIT
"""float32 layers without weights of `cortexm` against their numpy meaning, within 1e-5 of the largest value."""

from __future__ import annotations

import functools
import math
import shutil

import numpy
import pytest
from cortexm_harness import BOARD, PORTABLE, built_for, case, run, taken
from harness import under
from random_tensors import Randomness

from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.tensor import constant
from aidge_build.operators.activation import Elu, HardSigmoid, HardSwish
from aidge_build.operators.batchnorm import BatchNormalization
from aidge_build.operators.binary import Add, Div, Mul, Sub
from aidge_build.operators.normalize import LayerNormalization
from aidge_build.operators.smooth import Gelu, Swish
from aidge_build.operators.softmax import LogSoftmax, Softmax

PAIRS = [
    ((2, 3, 9), (2, 3, 9)),
    ((1, 4, 31), (1,)),
    ((), (5, 7)),
    ((2, 6, 8), (6, 1)),
    ((2, 6, 8), (8,)),
    ((1, 1, 16), (3, 5, 16)),
    ((1, 8), (1, 8)),
    ((1, 70), (1, 70)),
]


def pairs():
    for seed in range(4 * len(PAIRS)):
        (first, second), kind = PAIRS[seed // 4], (Add, Div, Mul, Sub)[seed % 4]
        random = Randomness(seed)
        values = 3 * random.float32(*first), 3 * random.float32(*second) + 20 * (kind is Div)
        operator = kind(minimum=0.0 if seed % 3 == 0 else -math.inf)
        yield case(
            operator, [random.real(*first), random.real(*second, name="z")], [part.astype(numpy.float32) for part in values]
        )


def rows():
    for seed, (length, count) in enumerate([(8, 3), (9, 1), (64, 5), (31, 2)]):
        random = Randomness(seed)
        scale, bias = (random.real(length, name=name) for name in "sb")
        values = (3 * random.float32(count, length) + 7).astype(numpy.float32)
        parameters = [random.float32(length), random.float32(length)][: 1 + (seed > 0)]
        inputs = [random.real(count, length), scale, bias][: 1 + len(parameters)]
        yield case(LayerNormalization(1, 1e-5), inputs, [values, *parameters])
        yield case(Softmax(1), [random.real(count, length)], [values])
        yield case(LogSoftmax(1), [random.real(count, length)], [4 * values])
        wide = random.float32(2, count + 1, length)
        yield case(Softmax(1), [random.real(*wide.shape)], [wide])
        for operator in (Gelu(), Gelu(with_tanh=True), Swish(1.0)):
            yield case(operator, [random.real(count, length)], [values - 7])


def curves():
    """Both ends, beyond them, and what the last loop has left."""
    for seed, operator in enumerate((Gelu(), Gelu(with_tanh=True), Swish(1.0), Swish(1.702), Swish(0.4))):
        for count in (1, 7, 8, 37):
            random = Randomness(seed)
            values = (9 * random.float32(count)).astype(numpy.float32)
            yield built_for(case(operator, [random.real(count)], [values]), "speed")
        ends = numpy.array([0.0, 1.0, *numpy.linspace(-40, 40, 401), 1e30, -1e30, math.inf, 3.0], numpy.float32)
        yield built_for(case(operator, [random.real(len(ends))], [ends]), "speed")
    for seed, alpha in enumerate((1.0, 0.3)):
        random, operator = Randomness(seed), Elu(alpha=alpha)
        ends = [*numpy.linspace(-20, 20, 161), 1e4, -1e30, math.inf, -math.inf]
        for values in (ends, numpy.linspace(-1, 0.3, 99), 3 * random.float32(7), -1e-4 * numpy.abs(random.float32(9))):
            yield built_for(case(operator, [random.real(len(values))], [numpy.array(values, numpy.float32)]), "speed")


def hard():
    for seed, operator in enumerate((HardSwish(), HardSigmoid(), HardSigmoid(alpha=1 / 6, beta=0.5))):
        for count in (1, 7, 8, 37):
            random = Randomness(seed)
            yield case(operator, [random.real(count)], [(4 * random.float32(count)).astype(numpy.float32)])
        ends = numpy.array([-0.0, *numpy.linspace(-4, 4, 161), 1e30, -1e30, math.inf, 3.0, -3.0], numpy.float32)
        yield case(operator, [random.real(len(ends))], [ends])


def normalizations():
    """Channels that are neighbours, and channels whose values are; the same without a limit, with both, and behind a ReLU."""
    clamps = [(-math.inf, math.inf), (0.0, math.inf), (-1.1, 1.4), (0.0, 2.5)]
    for seed, dims in enumerate([(1, 5, 3, 3), (2, 16, 4), (3, 7), (1, 1, 1, 9), (2, 3, 5, 2), (6,), (1, 9, 5)]):
        random, (low, high) = Randomness(seed), clamps[seed % len(clamps)]
        channels = dims[1] if len(dims) > 1 else 1
        numbers = [constant(name, random.float32(channels)) for name in ("scale", "bias", "mean")]
        numbers.append(constant("variance", random.float32(channels) ** 2 + 1))
        for form in (row_major, channels_last) if len(dims) > 2 else (row_major,):
            data = random.real(*dims).with_(format=form(len(dims)))
            operator = BatchNormalization(minimum=low, maximum=high)
            yield case(operator, [data, *numbers], [random.float32(*dims)], format=data.format)


@functools.cache
def candidates():
    return taken([*pairs(), *rows(), *curves(), *hard(), *normalizations()])


def test_all_are_taken():
    assert {entry.kernel.name for entry in candidates()} == {
        "batchnorm_float32",
        "binary_float32",
        "curved_float32",
        "hard_float32",
        "layer_norm_float32",
        "pieces_float32",
        "softmax_float32",
    }
    assert len(candidates()) == len([*pairs(), *rows(), *curves(), *hard(), *normalizations()])


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs arm-none-eabi-gcc")
@pytest.mark.parametrize("flags", [("-Os",), PORTABLE], ids=["assembly", "portable"])
def test_values_are_within_tolerance_on_the_emulated_core(flags):
    assert run(under(flags, candidates(), ("-Os",)), *flags, board=BOARD) == []


@pytest.mark.parametrize("operator", [Gelu(), Gelu(with_tanh=True), Swish(1.0), Swish(1.702), Swish(0.4)], ids=str)
def test_pieces_are_off_by_less_than_3e_minus_6_of_their_operator(operator):
    random = Randomness(0)
    entry = built_for(case(operator, [random.real(2048)], [random.float32(2048)]), "speed")
    table = entry.call.texts[1].split("{", 1)[1].split("}", 1)[0]
    pieces = numpy.array([float(number) for number in table.replace("f", "").replace(",", " ").split()]).reshape(-1, 4)
    steps = 1 / pieces[-1, 1]
    x = numpy.linspace(-200, 200, 400001)
    rows = pieces[numpy.clip(numpy.floor(x * steps), -128, 127).astype(int) + 128]
    u = x * steps
    wrong = numpy.abs(((rows[:, 3] * u + rows[:, 2]) * u + rows[:, 1]) * u + rows[:, 0] - operator.forward(x))
    assert wrong[numpy.abs(x) < 4].max() < 8e-7
    assert wrong.max() < 3e-6 * max(1, 1 / getattr(operator, "alpha", 1.0))
