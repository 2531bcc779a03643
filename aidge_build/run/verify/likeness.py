# SPDX-License-Identifier: MIT
"""How the inputs that a firmware passes to a model differ from samples: another order of axes, another scale, other bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy

from aidge_build.base.naming import counted
from aidge_build.graph.quantization import Quantization

_SAME = 0.99  # correlation from which on an input is the sample itself, scaled and rounded
_CLEARLY = 0.5  # another reading explains the inputs if it leaves at most half of the difference to a sample
# The scale, and the zero point in standard deviations of the samples, may be off by so much: of a sample itself, of other inputs.
_SCALE_OFF, _ZERO_POINT_OFF = (0.05, 0.3), (0.05, 0.5)
_FEW_LEVELS = 0.05  # of the different values that samples have
_MOST_SAMPLES, _MOST_AXES = 1000, 4


@dataclass(frozen=True, eq=False)
class Passed:
    """The inputs of several calls and samples of the same input, [call, ...] and [sample, ...] in the order of the memory.
    `name` and `quantization` are the input's."""

    name: str
    calls: numpy.ndarray
    samples: numpy.ndarray
    quantization: Quantization | None


@dataclass(frozen=True)
class _Match:
    """The inputs, read in a way that `words` say ("": as the model reads them), beside the sample that is most like each of them:
    the median of their correlations, and the input as `factor` times the sample plus `offset`."""

    words: str
    correlation: float
    factor: float
    offset: float


def differences(passed: Passed) -> list[str]:
    """Returns what is wrong with the inputs of the calls, a line each; [] if they are like the samples."""
    calls = passed.calls.reshape(len(passed.calls), -1)
    is_constant = (calls == calls[:, :1]).all(1)
    is_repeated = numpy.r_[False, (calls[1:] == calls[:-1]).all(1)] & ~is_constant
    left = passed.calls[~(is_constant | is_repeated)]
    texts = []
    if is_constant.any() and numpy.ptp(passed.samples):
        values = numpy.unique(calls[is_constant, 0])
        level = f"{values[0]:g}" if len(values) == 1 else "one number"
        texts.append((is_constant.sum(), f"every value is {level}: nothing was written there, or all values round to one level"))
    if is_repeated.any():
        texts.append(
            (is_repeated.sum(), "the same as in the call before: nothing new arrived, or the core reads an old cache line")
        )
    if len(left):
        with numpy.errstate(all="ignore"):  # another byte order makes any float of a float
            texts += [(len(left), text) for text in _explained(passed, left)]
    return [f"input '{passed.name}' of {count} of {counted(len(calls), 'call')}: {text}" for count, text in texts]


def _explained(passed: Passed, calls: numpy.ndarray) -> Iterator[str]:
    """Yields how inputs differ that change, unless they are like samples."""
    samples = passed.samples[:_MOST_SAMPLES].reshape(min(len(passed.samples), _MOST_SAMPLES), -1).astype(numpy.float64)
    levels, known = len(numpy.unique(calls)), len(numpy.unique(samples))
    if levels < _FEW_LEVELS * known:
        yield (
            f"only {levels} different values, samples have {known}: real values must be divided by the scale before they are "
            "rounded"
        )
        return
    units = _units(samples)
    plain, *others = (_match(words, values, samples, units) for words, values in _readings(calls))
    best = max(others, key=lambda match: match.correlation, default=plain)
    usual = _usual_likeness(units)
    if best.correlation >= usual and 1 - best.correlation < _CLEARLY * (1 - plain.correlation):
        yield f"like samples (correlation {best.correlation:.2f} instead of {plain.correlation:.2f}) {best.words}"
    elif plain.correlation < usual:
        yield (
            f"like no sample (correlation {plain.correlation:.2f}) in any order of axes or bytes: other data, another front end, "
            "or memory that something else writes"
        )
    else:
        yield from _of_scale(passed.quantization, plain, float(samples.std()))


def _of_scale(known: Quantization | None, match: _Match, deviation: float) -> Iterator[str]:
    """Yields the scale and zero point that the firmware used, where they are not the input's."""
    kind = 0 if match.correlation >= _SAME else 1
    scale, zero_point = (float(known.scale), int(known.zero_point)) if known else (1.0, 0)
    used = scale / match.factor if match.factor > 0 else math.inf
    moved = match.offset + (match.factor - 1) * zero_point
    if abs(match.factor - 1) < _SCALE_OFF[kind] and abs(moved) < max(1.5 * bool(known), _ZERO_POINT_OFF[kind] * deviation):
        return
    if known:
        yield (
            f"quantized with a scale of about {used:.3g} and a zero point of about {round(zero_point + moved)}; the model's are "
            f"{scale:.9g} and {zero_point}"
        )
    else:
        yield f"about {match.factor:.3g} times a sample plus {match.offset:.3g}: not scaled as in training"


def _match(words: str, values: numpy.ndarray, samples: numpy.ndarray, units: numpy.ndarray) -> _Match:
    calls = values.reshape(len(values), -1).astype(numpy.float64)
    likeness = _units(calls) @ units.T
    lines = [_line(call, samples[at]) for call, at in zip(calls, likeness.argmax(1), strict=True)]
    factor, offset = numpy.median(numpy.array(lines), 0)
    return _Match(words, float(numpy.median(likeness.max(1))), float(factor), float(offset))


def _line(call: numpy.ndarray, sample: numpy.ndarray) -> tuple[float, float]:
    """Returns factor and offset of a call's input as a linear function of the sample. Clipped values are left out."""
    kept = (call > call.min()) & (call < call.max())
    if kept.sum() < 3 or not numpy.ptp(sample[kept]):
        kept = numpy.ones(len(call), bool)
    moved = sample[kept] - sample[kept].mean()
    factor = float((moved * call[kept]).sum() / max((moved * moved).sum(), 1e-30))
    return factor, float(call[kept].mean() - factor * sample[kept].mean())


def _units(values: numpy.ndarray) -> numpy.ndarray:
    """Rows without their mean, of length 1; constant ones and ones that are not finite become 0."""
    spread = numpy.nan_to_num(values - values.mean(1, keepdims=True), posinf=0, neginf=0)
    length = numpy.linalg.norm(spread, axis=1, keepdims=True)
    return spread / numpy.where(length > 0, length, 1)


def _usual_likeness(units: numpy.ndarray) -> float:
    """Returns a correlation that nearly every sample exceeds with the sample most like it."""
    if len(units) < 3:
        return 0.0
    likeness = units @ units.T
    numpy.fill_diagonal(likeness, -1.0)
    return float(numpy.quantile(likeness.max(1), 0.02)) - 0.1


def _readings(calls: numpy.ndarray) -> Iterator[tuple[str, numpy.ndarray]]:
    """Yields the ways to read the bytes, with their words; first as the model reads them."""
    yield "", calls
    dims, kind = calls.shape[1:], calls.dtype
    axes = [axis for axis, dim in enumerate(dims) if dim > 1]
    for order in list(permutations(axes))[1:] if len(axes) <= _MOST_AXES else []:
        places = dict(zip(axes, order, strict=True))
        stored = [places.get(axis, axis) for axis in range(len(dims))]  # the model's axis at each place of the firmware's order
        own = [dims[axis] for axis in stored]
        values = calls.reshape(len(calls), *own).transpose(0, *(1 + stored.index(axis) for axis in range(len(dims))))
        yield f"if they are read as {own}: the model reads {list(dims)}, so write the axes in this order", values
    if kind.itemsize > 1:
        yield "if the bytes of each value are swapped: the sender has the other byte order", calls.byteswap()
    if kind.kind in "iu":
        words = "if the highest bit of each is inverted: signed and unsigned values (0 or 128 for the middle) are mixed up"
        yield words, calls ^ numpy.array(1 << 8 * kind.itemsize - 1, f"u{kind.itemsize}").view(kind)
