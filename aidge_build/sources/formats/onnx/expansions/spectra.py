# SPDX-License-Identifier: MIT
"""Fourier transforms of frames and rows, and the constants that go with them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.graph.dtype import DType
from aidge_build.operators.base import require
from aidge_build.sources.folding import MOST_ELEMENTS
from aidge_build.sources.formats.onnx.expansion import Draft, expands

DOMAIN = {"domain": "aidge", "opset": 1}


@expands("DFT")
def dft(draft: Draft) -> Sequence[str]:
    """Along one axis; the last axis holds real and imaginary part, or the real part alone. Source: ONNX operator DFT."""
    source = draft.source
    dims, axis = source.input(0).dims, _axis(draft)
    inverse, half = bool(source.integer("inverse", 0)), bool(source.integer("onesided", 0))
    back = inverse and half  # to real values
    length, used = _lengths(draft, dims, axis, back)
    order = (*(place for place in range(len(dims) - 1) if place != axis), axis, len(dims) - 1)
    name = draft.one("Transpose", draft.input(0), perm=order)
    if used < dims[axis]:
        ends = [draft.constant([number], numpy.int64) for number in (0, used, len(dims) - 2)]
        name = draft.one("Slice", name, *ends)
    outer = [dims[place] for place in order[:-2]]
    if back:
        name = _real_of_rows(draft, name, (math.prod(outer), used, 2), length)
    else:
        name = _of_rows(draft, name, (math.prod(outer), used, dims[-1]), length, inverse, half)
    count, parts = length // 2 + 1 if half and not back else length, 1 if back else 2
    name = draft.one("Reshape", name, draft.constant([*outer, count, parts], numpy.int64))
    return (draft.one("Transpose", name, perm=tuple(numpy.argsort(order).tolist())),)


def _axis(draft: Draft) -> int:
    source, dims = draft.source, draft.source.input(0).dims
    axis = source.integer("axis", 1) if source.opset < 20 else draft.integer(draft.input(2), "its axis", -2)
    axis += len(dims) if axis < 0 else 0
    require(len(dims) > 1 and dims[-1] in (1, 2) and 0 <= axis < len(dims) - 1, f"axis {axis} of the dims {list(dims)}")
    return axis


def _lengths(draft: Draft, dims: tuple[int, ...], axis: int, back: bool) -> tuple[int, int]:
    """Returns the length of the transform, and how many values along the axis it reads; `back`: to real values."""
    require(not back or dims[-1] == 2, "an inverse transform of one side wants complex values")
    length = draft.integer(draft.input(1), "its length", 2 * (dims[axis] - 1) if back else dims[axis])
    require(length > 0, f"its length is {length}")
    used = min(dims[axis], length // 2 + 1 if back else length)
    require(not back or used == length // 2 + 1, f"{used} frequencies do not give {length} values")
    return length, used


def _of_rows(draft: Draft, name: str, dims: tuple[int, int, int], length: int, inverse: bool, half: bool) -> str:
    """The transforms of rows [rows, values, 1 or 2], their frequencies in any rank."""
    if dims[2] == 1:
        rows = draft.one("Reshape", name, draft.constant(dims[:2], numpy.int64))
        found = draft.one("RealFourier", rows, length=length, onesided=int(half), **DOMAIN)
        share = numpy.array([1 / length, -1 / length], draft.tensor(name).dtype.numpy)
        return draft.one("Mul", found, draft.constant(share)) if inverse else found
    found = draft.one("Reshape", name, draft.constant(dims, numpy.int64))
    found = draft.one("ComplexFourier", found, length=length, inverse=int(inverse), **DOMAIN)
    if half:
        ends = [draft.constant([number], numpy.int64) for number in (0, length // 2 + 1, 1)]
        found = draft.one("Slice", found, *ends)
    return found


def _real_of_rows(draft: Draft, name: str, dims: tuple[int, int, int], length: int) -> str:
    """Returns the real values [rows, length, 1] with transforms that have these frequencies up to half the rate."""
    found = draft.one("Reshape", name, draft.constant(dims, numpy.int64))
    mirrored = (length - 1) // 2
    if mirrored:
        ends = [draft.constant([number], numpy.int64) for number in (mirrored, 0, 1, -1)]
        above = draft.one("Slice", found, *ends)
        above = draft.one("Mul", above, draft.constant([1, -1], draft.tensor(name).dtype.numpy))
        found = draft.one("Concat", found, above, axis=1)
    found = draft.one("ComplexFourier", found, length=length, inverse=1, **DOMAIN)
    return draft.one("Slice", found, *(draft.constant([number], numpy.int64) for number in (0, 1, 2)))


@expands("STFT")
def stft(draft: Draft) -> Sequence[str]:
    """Windows of a real signal, each transformed. Source: ONNX operator STFT."""
    source = draft.source
    signal = source.input(0)
    real = signal.rank == 2 or signal.rank == 3 and signal.dims[2] == 1
    require(real, f"a signal with the dims {list(signal.dims)} is not supported: [batch, length] or [batch, length, 1] is")
    step = draft.integer(draft.input(1), "its step")
    window = []
    if draft.input(2):
        values = draft.known(draft.input(2), "its window")
        length = draft.integer(draft.input(3), "its length", values.size)
        require(values.size == length, f"a window of {values.size} values, frames of {length}")
        window = [draft.constant(values.reshape(-1).astype(signal.dtype.numpy))]
    else:
        length = draft.integer(draft.input(3), "its length")
    require(step > 0 and 0 < length <= signal.dims[1], f"frames of {length} every {step} of {signal.dims[1]} values")
    row = draft.one("Reshape", draft.input(0), draft.constant([signal.dims[0], signal.dims[1]], numpy.int64))
    half = source.integer("onesided", 1)
    return (draft.one("RealFourier", row, *window, length=length, step=step, onesided=half, **DOMAIN),)


@expands("MelWeightMatrix")
def mel_weight_matrix(draft: Draft) -> Sequence[str]:
    """Triangles over the bins of a transform, as far apart as ears hear them. Source: ONNX operator MelWeightMatrix."""
    names = ("its bands", "its length", "its rate")
    bands, length, rate = (draft.integer(draft.input(place), what) for place, what in enumerate(names))
    lowest, highest = (draft.number(draft.input(place), "a frequency") for place in (3, 4))
    rows = length // 2 + 1
    require(min(bands, length, rate) > 0 and rows * bands <= MOST_ELEMENTS, f"{bands} bands, length {length}, rate {rate}")
    require(0 <= lowest <= highest <= rate, f"frequencies from {lowest} to {highest} at the rate {rate}")
    steps = numpy.arange(bands + 2) * ((_mel(highest) - _mel(lowest)) / (bands + 2)) + _mel(lowest)
    bins = ((length + 1) * (700 * (10 ** (steps / 2595) - 1)) // rate).astype(int)
    require(bool(bins[-2] < rows and bins[-1] <= rows), f"frequencies up to {highest} at the rate {rate}")
    matrix = numpy.zeros((rows, bands))
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
