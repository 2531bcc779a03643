# SPDX-License-Identifier: MIT
"""Test vectors: inputs and references from an NPZ file, and seeded perturbations of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.base.npz import read_npz
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView
from aidge_build.sources.onnx_format.tables import as_places
from aidge_build.sources.stored_values import StatedScale, as_stored_by, conversion_line, input_conversion, stated_scale

__all__ = [
    "Vectors",
    "input_conversions",
    "loaded_rows",
    "model_inputs",
    "perturbed",
    "random_vectors",
    "read_npz",
    "reference_conversions",
    "reference_outputs",
    "remarks_on",
    "stored_rows",
]

_MOST_NAMED = 4  # arrays that were not read
Vectors = dict[str, numpy.ndarray]  # tensor name -> [vector, dims...]


def model_inputs(arrays: Mapping[str, numpy.ndarray], view: GraphView) -> Vectors:
    """`x`, or `x_<input>` or `<input>` for each input. Stored values with x_scale and x_zero_point become real values for a float
    input, and are converted for an input with another scale; real values are quantized; float16 is widened; words are their
    places in the input's table.
    """
    found = {}
    for name in view.given:
        key = _key_of("x", name, arrays)
        if key not in arrays or (key == "x" and len(view.given) > 1):
            raise AidgeError(
                f"there is no array for input '{name}'",
                tried=sorted(arrays),
                code="VECTORS",
                hint=f"call the array x (one input), {name} or x_{name}",
            )
        found[name] = _fitted(arrays[key], _stated(arrays, key, "x", view.given), view.tensor(name), key)
    counts = {len(values) for values in found.values()}
    if len(counts) > 1 or 0 in counts:
        raise AidgeError(
            f"the inputs have {sorted(counts)} vectors", code="VECTORS", hint="the same number, at least one, for each"
        )
    return found


def _fitted(values: numpy.ndarray, stated: StatedScale | None, tensor: Tensor, key: str) -> numpy.ndarray:
    values = as_stored_by(as_places(values, tensor.names), tensor, stated)
    if values.dtype == numpy.float16 and tensor.dtype is DType.float32:
        values = values.astype(numpy.float32)
    if values.dtype != tensor.dtype.numpy:
        raise AidgeError(f"array {key} is {values.dtype}, input '{tensor.name}' is {tensor.dtype.name}", code="VECTORS")
    if values.ndim < 1 or not len(values) or not _has_axes(values.shape[1:], tensor):
        raise AidgeError(
            f"array {key} has dims {values.shape}, wants (vectors, {', '.join(map(str, tensor.layout.stored_dims))})",
            code="VECTORS",
        )
    return _as_model_counts(values, tensor)


def _has_axes(dims: tuple[int, ...], tensor: Tensor) -> bool:
    """Whether these are the stored dims of the tensor, axes of one element left out or not, or all its elements in one axis."""
    stored = tensor.layout.stored_dims
    return [dim for dim in dims if dim != 1] == [dim for dim in stored if dim != 1] or dims == (tensor.elements,)


def _as_model_counts(values: numpy.ndarray, tensor: Tensor) -> numpy.ndarray:
    """Vectors in the order in which the firmware has the elements, with the axes of the graph."""
    rows = [tensor.from_stored(one) for one in numpy.ascontiguousarray(values)]
    return numpy.array(rows, values.dtype).reshape(len(values), *tensor.dims)


def remarks_on(arrays: Mapping[str, numpy.ndarray], view: GraphView, count: int, used: Collection[str]) -> list[str]:
    """Returns lines about the arrays: inputs that were quantized or converted, and references that were not compared.

    `used` are the keys of arrays that were read in addition to the inputs, without the ending of `KEY_<output>`.
    """
    inputs = {_key_of("x", name, arrays): view.tensor(name) for name in view.given}
    outputs = [(_key_of(key, name, arrays), view.tensor(name)) for key in sorted(used) for name in view.handed_out]
    read = {*inputs, *used, *(f"{key}_{name}" for key in used for name in view.handed_out)}
    lines = [
        *(_real_remark(arrays, key, "input", tensor) for key, tensor in inputs.items()),
        *(_real_remark(arrays, key, "output", tensor) for key, tensor in outputs),
        *input_conversions(arrays, view),
        *(line for key in sorted(used) for line in reference_conversions(arrays, key, view)),
        _left_remark({key: arrays[key] for key in sorted(set(arrays) - read)}, count),
    ]
    return list(filter(None, lines))


def input_conversions(arrays: Mapping[str, numpy.ndarray], view: GraphView) -> list[str]:
    """Returns a line for each input, if `model_inputs` converts its stored values from another scale or type."""
    keys = {name: _key_of("x", name, arrays) for name in view.given}
    return [
        line
        for name, key in keys.items()
        if key in arrays
        for line in input_conversion(key, arrays[key], view.tensor(name), _stated(arrays, key, "x", view.given))
    ]


def reference_conversions(arrays: Mapping[str, numpy.ndarray], key: str, view: GraphView) -> list[str]:
    """Returns a line for each output, if `reference_outputs` converts its stored references from another scale."""
    lines = []
    for name in view.handed_out:
        chosen, tensor = _key_of(key, name, arrays), view.tensor(name)
        stated = _stated(arrays, chosen, key, view.handed_out)
        if chosen in arrays and stated and _has_other_scale(arrays[chosen], tensor, stated):
            lines.append(conversion_line(chosen, arrays[chosen], tensor, stated, "output"))
    return lines


def _stated(arrays: Mapping[str, numpy.ndarray], chosen: str, key: str, names: Sequence[str]) -> StatedScale | None:
    """The scale that the file states for the array `chosen`: its own, the one of `key`, or of all outputs (`y_scale`)."""
    return stated_scale(arrays, (chosen, key, *(["y"] if key != "x" else [])), names)


def _has_other_scale(values: numpy.ndarray, tensor: Tensor, stated: StatedScale) -> bool:
    """Whether references are stored values of another scale than the output's, or of a float output."""
    if values.dtype.kind not in "iuf" or _is_real(values, tensor):
        return False
    return stated.differs(tensor) or tensor.dtype.is_float and values.dtype.kind in "iu"


def _key_of(key: str, name: str, arrays: Mapping[str, numpy.ndarray]) -> str:
    """Returns `KEY_<name>` if there is such an array, or else `KEY`; an input's array may also have the input's own name."""
    if f"{key}_{name}" in arrays:
        return f"{key}_{name}"
    return name if key == "x" and key not in arrays and name in arrays else key


def _real_remark(arrays: Mapping[str, numpy.ndarray], key: str, side: str, tensor: Tensor) -> str:
    known = tensor.quantization
    if known is None or key not in arrays or arrays[key].dtype.kind != "f":
        return ""
    if side == "output" and not _is_real(arrays[key], tensor):
        return ""
    return f"{key}: real values, quantized with the {side}'s scale {known.scale:.9g} and zero point {known.zero_point}"


def _left_remark(unread: Mapping[str, numpy.ndarray], count: int) -> str:
    """Returns a remark on the arrays that were not compared but have numbers for each vector; "" if there are none."""
    left = [key for key, values in unread.items() if values.ndim > 1 and len(values) == count and values.dtype.kind in "iuf"]
    if not left:
        return ""
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    return f"not compared with: {', '.join(left[:_MOST_NAMED])}{more}; --reference {left[0]} compares with that array"


def reference_outputs(arrays: Mapping[str, numpy.ndarray], key: str, view: GraphView, count: int) -> Vectors:
    """The stored references `KEY`, or `KEY_<output>` for each output."""
    found = {}
    for name in view.handed_out:
        tensor, chosen = view.tensor(name), _key_of(key, name, arrays)
        if chosen not in arrays:
            raise AidgeError(f"there is no array '{chosen}'", tried=sorted(arrays), code="VECTORS")
        stated = _stated(arrays, chosen, key, view.handed_out)
        values = _of_type(as_places(arrays[chosen], tensor.names), tensor, chosen, stated)
        if len(values) != count or not _has_axes(values.shape[1:], tensor):
            stored = ", ".join(map(str, tensor.layout.stored_dims))
            several = f"one array for each output: {', '.join(f'{key}_{one}' for one in view.handed_out)}"
            raise AidgeError(
                f"array {chosen} has dims {values.shape}, wants ({count}, {stored})",
                where=f"output '{name}'",
                hint=several if len(view.handed_out) > 1 else "",
                code="VECTORS",
            )
        found[name] = _as_model_counts(values, tensor)
    return found


def _of_type(values: numpy.ndarray, tensor: Tensor, key: str, stated: StatedScale | None) -> numpy.ndarray:
    """References as the output stores them: real numbers are quantized, whole ones are stored values of the `stated` scale, which
    are converted where the output has another."""
    if stated is not None and _has_other_scale(values, tensor, stated):
        return as_stored_by(stated.real(values), tensor, None).astype(tensor.dtype.numpy)
    if tensor.dtype.is_float or values.dtype.kind not in "iuf" or tensor.quantization is None:
        return values
    if _is_real(values, tensor):
        return as_stored_by(values, tensor, None)
    low, high = tensor.dtype.range
    if values.size and not low <= values.min() <= values.max() <= high:
        raise AidgeError(
            f"array {key} has values from {values.min()} to {values.max()}, output '{tensor.name}' is {tensor.dtype.name}",
            code="VECTORS",
            hint=f"store it as {tensor.dtype.name}, or as real numbers, which are quantized",
        )
    return values


def _is_real(values: numpy.ndarray, tensor: Tensor) -> bool:
    """Whether the references of a quantized output are real numbers: floats that are not all whole."""
    is_quantized = tensor.quantization is not None and not tensor.dtype.is_float
    return is_quantized and values.dtype.kind == "f" and not (values == numpy.rint(values)).all()


def random_vectors(view: GraphView, count: int, seed: int) -> Vectors:
    """Returns seeded inputs, the same ones everywhere: integers over their type's whole range, or of the words that the model
    knows and one more; floats between -1 and 1."""
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    made = {}
    for name in view.given:
        tensor = view.tensor(name)
        kind, dims = tensor.dtype.numpy, (count, *tensor.dims)
        if kind.kind in "iu" and tensor.names:
            made[name] = random.integers(-1, len(tensor.names), dims, dtype=kind)  # -1: a word that is not in the table
        elif kind.kind in "iu":
            limits = numpy.iinfo(kind)
            made[name] = random.integers(limits.min, limits.max, dims, dtype=kind, endpoint=True)
        else:
            made[name] = (random.random(dims) * 2 - 1).astype(kind) if kind.kind == "f" else random.random(dims) < 0.5
    return made


def perturbed(vectors: Vectors, count: int, seed: int) -> Vectors:
    """Returns `count` vectors made from the given ones: a random tenth of the elements is moved, by up to the type's range.

    Float elements move by up to the largest magnitude of their vector. The same seed gives the same vectors everywhere.
    """
    random = numpy.random.Generator(numpy.random.PCG64(seed))
    made = {}
    for name, values in vectors.items():
        base = values[numpy.arange(count) % len(values)].astype(numpy.float64)
        moved = random.random(base.shape) < 0.1
        if values.dtype.kind in "iu":
            limits = numpy.iinfo(values.dtype)
            span = float(limits.max) - float(limits.min)
            shifted = numpy.clip(numpy.rint(base + (random.random(base.shape) * 2 - 1) * span / 2), limits.min, limits.max)
        else:
            shifted = base + (random.random(base.shape) * 2 - 1) * max(1e-3, float(numpy.abs(base).max()))
        made[name] = numpy.where(moved, shifted, base).astype(values.dtype)
    return made


def stored_rows(view: GraphView, vectors: Vectors) -> list[list[bytes]]:
    """The stored bytes of each input, for each vector, to call a linked program with."""
    tensors = [view.tensor(name) for name in view.given]
    count = len(vectors[tensors[0].name])
    return [[tensor.to_stored(vectors[tensor.name][index]).tobytes() for tensor in tensors] for index in range(count)]


def loaded_rows(view: GraphView, stored: Sequence[Sequence[bytes]]) -> Vectors:
    """The outputs of the graph, from the stored bytes of each output for each vector."""
    tensors = [view.tensor(name) for name in view.handed_out]
    return {
        tensor.name: numpy.stack(
            [tensor.from_stored(numpy.frombuffer(row[place], tensor.dtype.numpy, tensor.elements)) for row in stored]
        )
        for place, tensor in enumerate(tensors)
    }
