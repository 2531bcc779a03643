# SPDX-License-Identifier: MIT
"""Samples of a model's inputs, from the arrays of an NPZ file, as the inputs take them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.graph.quantization import Quantization
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.prepare.quantization.samples import require_finite
from aidge_build.sources.stored_values import StatedScale, as_stored_by, input_conversion, stated_scale

WANTED = "inputs as x (one input), as x_<input> or by their names"


@dataclass(frozen=True, eq=False)
class Samples:
    """`inputs` by input name [sample, ...], as the file has them: real values, or stored ones, with the scale that is
    `stated` for them."""

    inputs: dict[str, numpy.ndarray]
    stated: Mapping[str, StatedScale | None] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of samples."""
        return len(next(iter(self.inputs.values())))


def input_samples(arrays: Mapping[str, numpy.ndarray], view: GraphView) -> Samples:
    """Returns the samples, with the scales that the file states for stored values."""
    inputs = model_samples(arrays, view)
    stated = {name: stated_scale(arrays, (_key_of(arrays, name, view), "x"), view.given) for name in inputs}
    return Samples(inputs, stated)


def model_samples(arrays: Mapping[str, numpy.ndarray], view: GraphView) -> dict[str, numpy.ndarray]:
    """The array of each input of the model [sample, ...]: `x`, `x_<input>` or `<input>`, the same number of samples in each."""
    inputs = {name: _input(arrays, _key_of(arrays, name, view)) for name in view.given}
    counts = {len(values) for values in inputs.values()}
    if len(counts) != 1 or 0 in counts:
        raise AidgeError(
            f"the inputs have {sorted(counts)} samples", code="VECTORS", hint="the same number, at least one, for each"
        )
    return inputs


def fed(samples: Samples, name: str, tensor: Tensor, known: Quantization | None) -> numpy.ndarray:
    """The samples as the input `tensor` takes them: real values are quantized, stored ones become real values or are converted
    where the file states another scale than the input's.

    `known` is the quantization of this input in the quantized model, for stored values of a file that states none.
    """
    values, wanted = samples.inputs[name], tensor.dtype.numpy
    stated = samples.stated.get(name)
    if stated is None and known is not None and tensor.dtype.is_float:
        stated = StatedScale(float(known.scale), known.zero_point)
    values = as_stored_by(values, tensor, stated)
    if tensor.dtype.is_float and values.dtype.kind == "f":
        values = values.astype(wanted)
    if values.dtype != wanted:
        raise AidgeError(
            f"the samples of input '{name}' are {values.dtype}, the model takes {tensor.dtype.name}",
            code="VECTORS",
            hint="real values as float32 fit every model; integers want x_scale and x_zero_point in the file",
        )
    return numpy.ascontiguousarray(_arranged(values, name, tensor.dims)).reshape(len(values), *tensor.dims)


def conversions(samples: Samples, view: GraphView) -> list[str]:
    """Returns a line for each quantized input, if `fed` converts its stored samples from another scale or type."""
    return [
        line
        for name in view.given
        for line in input_conversion(name, samples.inputs[name], view.tensor(name), samples.stated.get(name))
    ]


def is_channels_last(dims: Sequence[int], original: Sequence[int]) -> bool:
    """Whether these dims are the `original` dims of an image with its channels moved after rows and columns."""
    return tuple(dims) != tuple(original) and len(dims) == 4 and (dims[0], dims[3], dims[1], dims[2]) == tuple(original)


def _arranged(values: numpy.ndarray, name: str, dims: tuple[int, ...]) -> numpy.ndarray:
    """Returns [sample, ...] in the order of `dims`: as they are, or, for a model with channels last, from channels first."""
    inner = values.shape[1:] if len(values.shape[1:]) >= len(dims) or dims[:1] != (1,) else (1, *values.shape[1:])
    is_flat = values.ndim == 2 and values.shape[1] == math.prod(dims)
    if is_flat or _without_ones(inner) == _without_ones(dims):
        return values
    if is_channels_last(dims, inner):
        return numpy.moveaxis(values.reshape(len(values), *inner), 2, -1)
    raise AidgeError(
        f"the samples of input '{name}' have dims {list(values.shape[1:])}, the model takes {list(dims)}", code="VECTORS"
    )


def _without_ones(dims: Sequence[int]) -> list[int]:
    return [size for size in dims if size != 1]


def _key_of(arrays: Mapping[str, numpy.ndarray], name: str, view: GraphView) -> str:
    keys = [f"x_{name}", name, *(["x"] if len(view.given) == 1 else [])]
    key = next((key for key in keys if key in arrays), None)
    if key is None:
        raise AidgeError(f"there is no array for input '{name}'", tried=sorted(arrays), code="VECTORS", hint=WANTED)
    return key


def _input(arrays: Mapping[str, numpy.ndarray], key: str) -> numpy.ndarray:
    values = arrays[key]
    if values.dtype.kind not in "iufb" or values.ndim < 1:
        raise AidgeError(f"array {key} is {values.dtype}{list(values.shape)}", code="VECTORS", hint="numbers, the samples first")
    require_finite(values, key, "VECTORS")
    return values
