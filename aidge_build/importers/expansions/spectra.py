# SPDX-License-Identifier: MIT
"""Fourier transforms as products with constant matrices, and the constants that go with them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.importers.expansion import Draft, expands
from aidge_build.operators.base import require

MOST_ELEMENTS = 1 << 22  # of a matrix


@expands("DFT")
def dft(draft: Draft) -> Sequence[str]:
    """Along one axis; the last axis holds real and imaginary part, or the real part alone. Source: ONNX operator DFT."""
    source = draft.source
    dims = source.input(0).dims
    axis = source.integer("axis", 1) if source.opset < 20 else _number(draft, 2, "its axis", -2)
    axis += len(dims) if axis < 0 else 0
    require(len(dims) > 1 and dims[-1] in (1, 2) and 0 <= axis < len(dims) - 1, f"axis {axis} of the dims {list(dims)}")
    inverse, half = bool(source.integer("inverse", 0)), bool(source.integer("onesided", 0))
    require(not (inverse and half), "an inverse transform of one side is not supported")
    length = _number(draft, 1, "its length", dims[axis])
    used = min(dims[axis], length)
    matrix = _matrix(used, length, dims[-1] == 2, inverse, half).astype(source.input(0).dtype.numpy)
    order = (*(place for place in range(len(dims) - 1) if place != axis), axis, len(dims) - 1)
    name = draft.one("Transpose", draft.input(0), perm=order)
    if used < dims[axis]:
        ends = [draft.constant([number], numpy.int64) for number in (0, used, len(dims) - 2)]
        name = draft.one("Slice", name, *ends)
    outer = [dims[place] for place in order[:-2]]
    name = draft.one("Reshape", name, draft.constant([*outer, used * dims[-1]], numpy.int64))
    name = draft.one("MatMul", name, draft.constant(matrix))
    name = draft.one("Reshape", name, draft.constant([*outer, matrix.shape[1] // 2, 2], numpy.int64))
    return (draft.one("Transpose", name, perm=tuple(numpy.argsort(order).tolist())),)


@expands("STFT")
def stft(draft: Draft) -> Sequence[str]:
    """Windows of a real signal, each transformed: a convolution with a constant. Source: ONNX operator STFT."""
    source = draft.source
    signal = source.input(0)
    real = signal.rank == 2 or signal.rank == 3 and signal.dims[2] == 1
    require(real, f"a signal with the dims {list(signal.dims)} is not supported: [batch, length] or [batch, length, 1] is")
    step = _number(draft, 1, "its step")
    if draft.input(2):
        window = draft.known(draft.input(2), "its window").astype(numpy.float64)
        length = _number(draft, 3, "its length", window.size)
        require(window.size == length, f"a window of {window.size} values, frames of {length}")
    else:
        length = _number(draft, 3, "its length")
        window = numpy.ones(length)
    require(step > 0 and 0 < length <= signal.dims[1], f"frames of {length} every {step} of {signal.dims[1]} values")
    matrix = _matrix(length, length, False, False, bool(source.integer("onesided", 1))) * window[:, None]
    weights = draft.constant(matrix.T[:, None, :].astype(signal.dtype.numpy))
    row = draft.one("Reshape", draft.input(0), draft.constant([signal.dims[0], 1, signal.dims[1]], numpy.int64))
    found = draft.one("Conv", row, weights, strides=(step,))
    frames = draft.one("Transpose", found, perm=(0, 2, 1))
    dims = [signal.dims[0], draft.tensor(frames).dims[1], matrix.shape[1] // 2, 2]
    return (draft.one("Reshape", frames, draft.constant(dims, numpy.int64)),)


def _matrix(used: int, length: int, is_complex: bool, inverse: bool, half: bool) -> numpy.ndarray:
    """[values (real and imaginary part), frequencies (real and imaginary part)] in float64."""
    count = length // 2 + 1 if half else length
    elements = used * count * (4 if is_complex else 2)
    require(elements <= MOST_ELEMENTS, f"a matrix of {elements} elements, at most {MOST_ELEMENTS} are supported")
    turns = numpy.outer(numpy.arange(used), numpy.arange(count)) % length
    waves = numpy.exp((2j if inverse else -2j) * math.pi / length * turns) / (length if inverse else 1)
    rows = [waves, 1j * waves] if is_complex else [waves]
    parts = numpy.stack([numpy.stack([row.real, row.imag], -1) for row in rows], 1)
    return parts.reshape(used * len(rows), count * 2)


@expands("MelWeightMatrix")
def mel_weight_matrix(draft: Draft) -> Sequence[str]:
    """Triangles over the bins of a transform, as far apart as ears hear them. Source: ONNX operator MelWeightMatrix."""
    bands, length, rate = (_number(draft, place, what) for place, what in enumerate(("bands", "its length", "its rate")))
    lowest, highest = (float(draft.known(draft.input(place), "a frequency").reshape(())) for place in (3, 4))
    steps = numpy.arange(bands + 2) * ((_mel(highest) - _mel(lowest)) / (bands + 2)) + _mel(lowest)
    require(bands > 0 and length > 0 and rate > 0, f"{bands} bands, length {length}, rate {rate}")
    bins = ((length + 1) * (700 * (10 ** (steps / 2595) - 1)) // rate).astype(int)
    matrix = numpy.zeros((length // 2 + 1, bands))
    for band in range(bands):
        low, middle, high = bins[band : band + 3]
        if middle == low:
            matrix[middle, band] = 1
        else:
            matrix[low : middle + 1, band] = numpy.arange(middle - low + 1) / (middle - low)
        if high > middle:
            matrix[middle:high, band] = (high - numpy.arange(middle, high)) / (high - middle)
    return (draft.constant(matrix.astype(draft.source.dtype("output_datatype", DType.float32).numpy)),)


def _mel(frequency: float) -> float:
    return 2595 * math.log10(1 + frequency / 700)


def _number(draft: Draft, index: int, what: str, default: int | None = None) -> int:
    if not draft.input(index) and default is not None:
        return default
    values = draft.known(draft.input(index), what)
    require(values.size == 1, f"{what} has {values.size} elements, wants one")
    return int(values.reshape(()).item())
