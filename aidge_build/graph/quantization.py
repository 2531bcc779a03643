# SPDX-License-Identifier: MIT
"""Quantization as a property of tensors: real value = (stored value - zero point) * scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy

from aidge_build.base.errors import AidgeError


@dataclass(frozen=True)
class Quantization:
    """Scales (exact float32 values) and zero points: one each, or one each for every index of the logical `axis`.

    `rounding` is the numerical contract by which operators compute such a tensor; the meaning of stored values does not depend on
    it.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None
    rounding: str = field(default="onnx", compare=False, repr=False)

    def __post_init__(self):
        if len(self.scales) != len(self.zero_points) or (self.axis is None and len(self.scales) != 1):
            raise AidgeError(f"{len(self.scales)} scales with {len(self.zero_points)} zero points", code="QUANTIZATION")
        for scale in self.scales:
            if not (math.isfinite(scale) and scale > 0):
                raise AidgeError(f"the scale {scale} is not a positive finite number", code="QUANTIZATION")

    @property
    def per_tensor(self) -> bool:
        """Whether one scale and one zero point serve all elements."""
        return self.axis is None

    @property
    def scale(self) -> numpy.float32:
        """The only scale of a per-tensor quantization."""
        (scale,) = self.scales
        return numpy.float32(scale)

    @property
    def zero_point(self) -> int:
        """The only zero point of a per-tensor quantization."""
        (zero_point,) = self.zero_points
        return zero_point

    def along(self, values: tuple, rank: int, dtype) -> numpy.ndarray:
        """Returns `scales` or `zero_points` as an array that broadcasts over a tensor of this rank."""
        shape = [1] * rank
        if self.axis is not None:
            shape[self.axis] = len(values)
        return numpy.array(values, dtype).reshape(shape)


def per_tensor(scale: float, zero_point: int) -> Quantization:
    """Returns one scale and zero point for the whole tensor."""
    return Quantization((float(numpy.float32(scale)),), (int(zero_point),))
