# SPDX-License-Identifier: MIT
"""Random tensors for the differential tests, from seeded generators."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.graph.quantization import Quantization, per_tensor
from aidge_build.graph.tensor import Tensor, constant


class Randomness:
    """Tensors and values of one seed."""

    def __init__(self, seed: int):
        self.numbers = numpy.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        """low..high, both included."""
        return int(self.numbers.integers(low, high + 1))

    def choice(self, *options):
        return options[self.integer(0, len(options) - 1)]

    def scale(self, around: float = 0.05) -> float:
        """Mostly any number, one in three a power of two (which makes ties)."""
        scale = around * 2 ** self.numbers.uniform(-1, 1)
        return float(2.0 ** round(numpy.log2(scale))) if self.integer(0, 2) == 0 else float(numpy.float32(scale))

    def quantization(self, around: float = 0.05) -> Quantization:
        return per_tensor(self.scale(around), self.choice(-128, 127, 0, self.integer(-128, 127)))

    def int8(self, *dims: int) -> numpy.ndarray:
        """Values over the whole range, the extremes often."""
        values = self.numbers.integers(-128, 128, dims)
        extreme = self.numbers.random(dims) < 0.1
        return numpy.where(extreme, numpy.where(values < 0, -128, 127), values).astype(numpy.int8)

    def float32(self, *dims: int) -> numpy.ndarray:
        return self.numbers.normal(size=dims).astype(numpy.float32)

    def data(self, *dims: int, name: str = "x") -> Tensor:
        """A computed int8 tensor."""
        return Tensor(name, dims, DType.int8, quantization=self.quantization())

    def real(self, *dims: int, name: str = "x") -> Tensor:
        """A computed float32 tensor."""
        return Tensor(name, dims, DType.float32)

    def weights(self, outputs: int, *dims: int) -> Tensor:
        """int8 weights, with one scale or one per output."""
        count = self.choice(1, outputs)
        scales = tuple(self.scale(0.01) for _ in range(count))
        quantization = Quantization(scales, (0,) * count, 0) if count > 1 else per_tensor(scales[0], 0)
        return constant("w", self.int8(outputs, *dims), quantization)

    def bias(self, outputs: int, dtype: type = numpy.int32) -> Tensor | None:
        if self.integer(0, 4) == 0:
            return None
        return constant("b", self.numbers.integers(-5000, 5000, outputs).astype(dtype))


def of_few_bits(weights: Tensor, bits: int, lowest: int) -> Tensor:
    """Weights of 4, 2 or 1 bits, none below the lowest, with products as large as before."""
    values = numpy.where(weights.data < 0, -1, 1) if bits == 1 else numpy.maximum(weights.data >> 8 - bits, lowest)
    steps = weights.quantization
    steps = steps and replace(steps, scales=tuple(scale * (1 << 8 - bits) for scale in steps.scales))
    return constant(weights.name, values.astype(numpy.int8), steps)


def halfword_weights(seed: int, data: Tensor, weights: Tensor, bias: Tensor | None) -> list[Tensor]:
    """The layer's inputs with int16 weights: of 9 bits, as weights less a zero point are, or of finer units, whose bias is no
    multiple of them (`fit_bias`), or both."""
    random = Randomness(seed)
    wide = weights.data.astype(numpy.int16)
    if seed % 3:
        points = random.numbers.integers(-127, 128, (len(wide), *(1,) * (wide.ndim - 1))).astype(numpy.int16)
        wide -= numpy.where(numpy.arange(len(wide)).reshape(points.shape) % (1 + seed % 2) == 0, points, 0).astype(numpy.int16)
    unit = 1 if seed % 3 == 1 else random.choice(128, 128, 8, 2)
    while unit > 1 and numpy.abs(wide.reshape(len(wide), -1).astype(int)).sum(axis=1).max() * 256 * unit > 1 << 30:
        unit //= 2
    quantization = replace(weights.quantization, scales=tuple(scale / unit for scale in weights.quantization.scales))
    values = random.numbers.integers(-3000 * unit, 3000 * unit, len(wide)) if bias is None else bias.data * unit
    values = values + random.numbers.integers(0, unit, len(wide))
    return [data, constant("w", wide * numpy.int16(unit), quantization), constant("b", values.astype(numpy.int32))]


def offset_weights(seed: int, weights: Tensor) -> Tensor:
    """int16 weights, int8 ones less a zero point: the same of all outputs, or one for each, which some have and some not."""
    random, dims = Randomness(seed), (len(weights.data), *(1,) * (weights.data.ndim - 1))
    points = random.choice(3, -40, 127, random.numbers.integers(-127, 128, dims), random.numbers.integers(0, 2, dims) * -90)
    return constant("w", weights.data.astype(numpy.int16) - numpy.asarray(points, numpy.int16), weights.quantization)
