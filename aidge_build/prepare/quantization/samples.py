# SPDX-License-Identifier: MIT
"""Checks calibration data before anything is computed from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.naming import counted
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.sources.stored_values import as_stored_by, stated_scale


def checked_samples(arrays: Mapping[str, numpy.ndarray], view: GraphView) -> dict[str, numpy.ndarray]:
    """[sample, dims...] for each input: the array of its name, `x_<name>`, or `x` where there is one input.

    Stored values with `x_scale` and `x_zero_point` become what the input takes. AidgeError (code CALIBRATION)
    for what cannot be a set of samples.
    """
    found = {name: _array_of(name, arrays, view) for name in view.inputs}
    counts = {name: len(values) for name, values in found.items()}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{count} of '{name}'" for name, count in counts.items())
        raise _refusal(f"the inputs have different numbers of samples: {shown}", "one of each input makes a sample")
    return found


def each_sample(samples: Mapping[str, numpy.ndarray]) -> Iterator[dict[str, numpy.ndarray]]:
    """Yields the inputs of one execution after the other."""
    for index in range(count_of(samples)):
        yield {name: values[index] for name, values in samples.items()}


def count_of(samples: Mapping[str, numpy.ndarray]) -> int:
    """Returns the number of samples; 0 for a model without inputs."""
    return len(next(iter(samples.values()), ()))


def _array_of(name: str, arrays: Mapping[str, numpy.ndarray], view: GraphView) -> numpy.ndarray:
    keys = [name, f"x_{name}", *(["x"] if len(view.inputs) == 1 else [])]
    key = next((key for key in keys if key in arrays), None)
    if key is None:
        there = ", ".join(sorted(arrays)) or "none"
        raise _refusal(
            f"there is no array for input '{name}'; the arrays are: {there}",
            f"name it {keys[-1]}: numpy.savez(file, {keys[-1]}=samples)",
        )
    return _checked(numpy.asarray(arrays[key]), key, arrays, view.tensor(name), view.inputs)


def _checked(
    values: numpy.ndarray, key: str, arrays: Mapping[str, numpy.ndarray], tensor: Tensor, names: Sequence[str]
) -> numpy.ndarray:
    wanted = f"[samples, {', '.join(map(str, tensor.dims))}] of {tensor.dtype.name}"
    if values.dtype.kind in "iu":
        values = as_stored_by(values, tensor, stated_scale(arrays, (key, "x"), names))
    if values.dtype != tensor.dtype.numpy and not (values.dtype.kind == "f" and tensor.dtype.is_float):
        raise _refusal(
            f"array {key} is {values.dtype}, input '{tensor.name}' wants {wanted}",
            "give the values that the float model gets, after all preprocessing",
        )
    inner = tensor.dims[1:] if tensor.dims[:1] == (1,) else tensor.dims
    if values.ndim < 1 or values.shape[1:] not in (tensor.dims, inner):
        raise _refusal(
            f"array {key} has the dims {list(values.shape)}, input '{tensor.name}' wants {wanted}", "the samples come first"
        )
    if not len(values):
        raise _refusal(f"array {key} holds no sample", "a hundred samples of what the device will see are a good number")
    with numpy.errstate(over="ignore"):  # a value beyond float32 becomes infinity, and is refused
        values = values.astype(tensor.dtype.numpy).reshape(len(values), *tensor.dims)
    require_finite(values, key, "CALIBRATION")
    return values


def require_finite(values: numpy.ndarray, key: str, code: str) -> None:
    """Raises AidgeError with this code if samples [sample, dims...] of the array `key` hold NaN or infinity, also as float32."""
    with numpy.errstate(over="ignore"):
        stored: numpy.ndarray = values.astype(numpy.float32, copy=False)
    bad = ~numpy.isfinite(stored).all(axis=tuple(range(1, values.ndim)))
    if bad.any():
        which = " as float32" if numpy.isfinite(values).all() else ""
        raise AidgeError(
            f"array {key} holds NaN or infinity{which} in {int(bad.sum())} of {counted(len(bad), 'sample')}",
            hint=f"the first one has the index {int(bad.argmax())}: leave such samples out",
            code=code,
        )


def _refusal(what: str, hint: str) -> AidgeError:
    return AidgeError(what, hint=hint, code="CALIBRATION")
