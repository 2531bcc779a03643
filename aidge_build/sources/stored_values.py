# SPDX-License-Identifier: MIT
"""Arrays of stored values with their scale, as files of samples have them, and their conversion to the values of a tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.tensor import Tensor
from aidge_build.operators.arithmetic.requantize import quantize


@dataclass(frozen=True)
class StatedScale:
    """The meaning of stored values as a file states it: real = (stored - zero point) * scale, of any zero point."""

    scale: float
    zero_point: float

    def real(self, values: numpy.ndarray) -> numpy.ndarray:
        """The real values in float64."""
        return (values.astype(numpy.float64) - self.zero_point) * self.scale

    def differs(self, tensor: Tensor) -> bool:
        """Whether the tensor is quantized with another scale or zero point, compared as float32."""
        known = tensor.quantization
        if known is None or not known.per_tensor:
            return False
        return (float(known.scale), known.zero_point) != (self.scale, self.zero_point)


def stated_scale(arrays: Mapping[str, numpy.ndarray], keys: Sequence[str], names: Sequence[str]) -> StatedScale | None:
    """Returns `<key>_scale` and `<key>_zero_point` (default: 0) of the first key that has a scale; None if no key has a scale.
    `names` are the inputs or outputs of the model: the array of an input that is called `scale` is no scale. AidgeError (code
    VECTORS) if either is not one number."""
    values = {*names, *(f"{key}_{name}" for key in keys for name in names)}
    key = next((key for key in keys if f"{key}_scale" in arrays and f"{key}_scale" not in values), None)
    if key is None:
        return None
    stated = [numpy.asarray(arrays[f"{key}_scale"]), numpy.asarray(arrays.get(f"{key}_zero_point", 0))]
    if any(one.size != 1 or one.dtype.kind not in "iuf" for one in stated):
        raise AidgeError(f"{key}_scale and {key}_zero_point are one number each", code="VECTORS")
    scale, zero_point = (float(numpy.float32(one.reshape(-1)[0])) for one in stated)
    if not (0 < scale < numpy.inf and numpy.isfinite(zero_point)):
        raise AidgeError(
            f"{key}_scale is {scale:.9g} and {key}_zero_point {zero_point:.9g}", code="VECTORS", hint="finite, the scale above 0"
        )
    return StatedScale(scale, zero_point)


def as_stored_by(values: numpy.ndarray, tensor: Tensor, stated: StatedScale | None) -> numpy.ndarray:
    """Returns the values as the tensor stores them: real values are quantized; integers of a stated scale become real values, and
    are quantized again if the tensor has another scale or type. All other values stay as they are."""
    if not is_converted(values, tensor, stated) and values.dtype.kind != "f":
        return values
    real = stated.real(values) if stated is not None and values.dtype.kind in "iu" else values
    with numpy.errstate(over="ignore"):  # infinity is the largest stored value
        if tensor.quantization is not None and not tensor.dtype.is_float:
            return quantize(real.astype(numpy.float32), tensor.quantization, tensor.dtype)
        return values if values.dtype.kind == "f" else real.astype(tensor.dtype.numpy)


def is_converted(values: numpy.ndarray, tensor: Tensor, stated: StatedScale | None) -> bool:
    """Whether `as_stored_by` changes the scale or the type of integers."""
    if stated is None or values.dtype.kind not in "iu":
        return False
    is_quantized = tensor.quantization is not None and tensor.quantization.per_tensor
    return tensor.dtype.is_float or is_quantized and (values.dtype != tensor.dtype.numpy or stated.differs(tensor))


def input_conversion(key: str, values: numpy.ndarray, tensor: Tensor, stated: StatedScale | None) -> list[str]:
    """Returns the line about the array `key` if `as_stored_by` converts it for a quantized input, or else []."""
    if stated is None or tensor.dtype.is_float or not is_converted(values, tensor, stated):
        return []
    return [conversion_line(key, values, tensor, stated, "input")]


def conversion_line(key: str, values: numpy.ndarray, tensor: Tensor, stated: StatedScale, side: str) -> str:
    """Returns the line that says how the array `key` was converted for an input or output (`side`)."""
    known = tensor.quantization
    types = (f" as {values.dtype}", f" as {tensor.dtype.name}") if values.dtype != tensor.dtype.numpy else ("", "")
    before = f"{key}: stored{types[0]} with scale {stated.scale:.9g} and zero point {stated.zero_point:.9g}, converted to"
    if known is None:
        return f"{before} real values"
    return f"{before} the {side}'s scale {known.scale:.9g} and zero point {known.zero_point}{types[1]}"
