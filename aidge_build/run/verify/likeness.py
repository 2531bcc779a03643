# SPDX-License-Identifier: MIT
"""How the inputs that a firmware passes to a model differ from samples: another order of axes, scale, bytes or begin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import numpy

from aidge_build.base.naming import counted
from aidge_build.graph.quantization import Quantization
from aidge_build.run.verify.shifts import Shift, common_shift, unit_rows

_CLEARLY = 0.5  # another reading explains the inputs if it leaves at most half of the difference to a sample
_SCALE_OFF, _LEVELS_OFF = 0.05, 1.5  # of a sample itself: beyond this it was quantized otherwise
_ROUNDING, _FLOATS = 0.35, 1e-3  # what is left of a sample itself: in levels for each rounding, of the deviation of floats
# Other inputs than samples are so much further from the samples that are most like them than any sample is.
_RATIO_OFF, _MEAN_OFF = 1.25, 0.15  # the mean in standard deviations of all samples
_NEIGHBOURS = 5
_FEW_LEVELS = 0.25  # of the different values in the sample that has the fewest
_LEAST_ELEMENTS = 16  # below, inputs have no shape: they are compared with the ranges of the samples
_OUTSIDE, _RANGE_SLACK = 0.5, 0.25  # of the values; of the range
_NO_DMA = "no emulator has DMA: if it writes this input, run --probe, or a build with --record and verify --replay, shows it"
_MOST_SAMPLES, _LEAST_SAMPLES, _MOST_VALUES, _MOST_AXES = 1000, 50, 1 << 22, 4


@dataclass(frozen=True, eq=False)
class Passed:
    """The inputs of several calls and samples of the same input, [call, ...] and [sample, ...] in the order of the memory.
    `name` and `quantization` are the input's."""

    name: str
    calls: numpy.ndarray
    samples: numpy.ndarray
    quantization: Quantization | None


@dataclass(frozen=True)
class Difference:
    """A difference of inputs from samples, in words. `is_certain`: it is wrong, whatever the firmware is meant to do. `hint` says
    what helps, "" if a finding's own hint does."""

    text: str
    is_certain: bool = True
    hint: str = ""


@dataclass(frozen=True, eq=False)
class _Known:
    """Samples [sample, element], the same without their mean and of length 1, and their correlations with each other."""

    values: numpy.ndarray
    units: numpy.ndarray
    alike: numpy.ndarray  # [sample, sample], -1 for a sample with itself

    @property
    def usual(self) -> float:
        """A correlation that nearly every sample exceeds with the sample most like it."""
        return float(numpy.quantile(self.alike.max(1), 0.02)) - 0.1 if len(self.units) >= 3 else 0.0


@dataclass(frozen=True, eq=False)
class _Match:
    """Inputs [call, element], read in a way that `words` say ("": as the model reads them), and their correlations with samples
    [call, sample]."""

    words: str
    values: numpy.ndarray
    likeness: numpy.ndarray

    @property
    def correlation(self) -> float:
        """The median of the correlations with the sample that is most like each input."""
        return float(numpy.median(self.likeness.max(1)))


def differences(passed: Passed) -> list[Difference]:
    """Returns what is wrong with the inputs of the calls; [] if they are like the samples."""
    all_calls, samples = (_first(values) for values in (passed.calls, passed.samples))
    calls = all_calls.reshape(len(all_calls), -1)
    with numpy.errstate(all="ignore"):  # another byte order makes any float of a float
        if calls.shape[1] < _LEAST_ELEMENTS:
            found = [(len(calls), Difference(text)) for text in _outside(calls, samples.reshape(len(samples), -1))]
        else:
            found = list(_of_shapes(Passed(passed.name, all_calls, samples, passed.quantization)))
    count = counted(len(calls), "call")
    return [replace(one, text=f"input '{passed.name}' of {number} of {count}: {one.text}") for number, one in found]


def _first(values: numpy.ndarray) -> numpy.ndarray:
    """Returns so many of the first calls or samples that a computer holds them several times."""
    return values[: min(_MOST_SAMPLES, max(_LEAST_SAMPLES, _MOST_VALUES // max(values[0].size, 1)))]


def _outside(calls: numpy.ndarray, samples: numpy.ndarray) -> Iterator[str]:
    """Yields a line if most values are outside of the range that samples have at the same place."""
    low, high = samples.min(0).astype(numpy.float64), samples.max(0).astype(numpy.float64)
    slack = _RANGE_SLACK * (high - low) + (samples.dtype.kind != "f")
    share = float(((calls < low - slack) | (calls > high + slack)).mean())
    if share > _OUTSIDE:
        yield (
            f"{share:.0%} of the values are outside of the range that samples have at their place: another scale, unit or order "
            "of columns"
        )


def _of_shapes(passed: Passed) -> Iterator[tuple[int, Difference]]:
    """Yields the number of calls with each difference."""
    calls, samples = (values.reshape(len(values), -1) for values in (passed.calls, passed.samples))
    is_constant = _are_constant(calls)
    is_repeated = numpy.r_[False, (calls[1:] == calls[:-1]).all(1)] & ~is_constant
    if is_constant.mean() > max(_OUTSIDE, _are_constant(samples).mean()):
        values = numpy.unique(calls[is_constant, 0])
        level = f"{values[0]:g}" if len(values) == 1 else "one number"
        text = f"every value is {level}: nothing was written there, or all values round to one level"
        yield int(is_constant.sum()), Difference(text, hint=_NO_DMA)
    if is_repeated.any():
        text = "the same as in the call before: a stored input, or nothing new arrived, or the core reads an old cache line"
        yield int(is_repeated.sum()), Difference(text, is_certain=False)
    left = passed.calls[~(is_constant | is_repeated)]
    for one in _explained(passed, left) if len(left) else ():
        yield len(left), one


def _are_constant(rows: numpy.ndarray) -> numpy.ndarray:
    return (rows == rows[:, :1]).all(1)


def _levels(rows: numpy.ndarray) -> numpy.ndarray:
    """Returns how many different values each row has."""
    return 1 + (numpy.diff(numpy.sort(rows, 1), axis=1) != 0).sum(1)


def _explained(passed: Passed, calls: numpy.ndarray) -> Iterator[Difference]:
    """Yields how inputs differ that change, unless they are like samples."""
    samples = passed.samples.reshape(len(passed.samples), -1).astype(numpy.float64)
    levels, known_levels = _levels(calls.reshape(len(calls), -1)).max(), _levels(samples).min()
    if levels < _FEW_LEVELS * known_levels:
        yield Difference(
            f"at most {levels} different values, each sample has {known_levels} or more: real values must be divided by the "
            "scale before they are rounded"
        )
        return
    known = _known(samples)
    plain, *others = (_match(words, values, known) for words, values in _readings(calls))
    best = max(others, key=lambda match: match.correlation, default=plain)
    if best.correlation >= known.usual and 1 - best.correlation < _CLEARLY * (1 - plain.correlation):
        yield Difference(f"like samples (correlation {best.correlation:.2f} instead of {plain.correlation:.2f}) {best.words}")
    elif shift := common_shift(calls, passed.samples):
        yield _shifted(shift)
    elif plain.correlation < known.usual:
        yield Difference(
            f"like no sample (correlation {plain.correlation:.2f}) in any order of axes or bytes: other data, another front end, "
            "or memory that something else writes"
        )
    else:
        yield from map(Difference, _of_scale(passed.quantization, plain, known))


def _shifted(shift: Shift) -> Difference:
    text = f"like samples (correlation {shift.shifted:.2f} instead of {shift.plain:.2f}) if they are shifted by {abs(shift.by)}"
    is_late = shift.by > 0
    hint = f"begin the window {abs(shift.by)} {'earlier' if is_late else 'later'}: a filter, or a trigger, has another delay"
    return Difference(f"{text} along axis {shift.axis}: the window begins {'late' if is_late else 'early'}", hint=hint)


def _of_scale(quantization: Quantization | None, match: _Match, known: _Known) -> Iterator[str]:
    """Yields the scale and zero point that the firmware used, where they are not the input's."""
    found = _of_same(match, known, quantization is not None) or _of_others(match, known)
    if found is None:
        return
    factor, offset = found
    if quantization is None:
        yield f"about {factor:.3g} times a sample plus {offset:.3g}: not scaled as in training"
        return
    scale, zero_point = float(quantization.scale), int(quantization.zero_point)
    used = scale / factor if factor > 0 else math.inf
    text = f"quantized with a scale of about {used:.3g} and a zero point of about {round(factor * zero_point + offset)}"
    yield f"{text}; the model's are {scale:.9g} and {zero_point}"


def _of_same(match: _Match, known: _Known, is_rounded: bool) -> tuple[float, float] | None:
    """Returns the input as (factor, offset) of a sample, if it is one itself: nothing but rounding is left. (1, 0) has no
    difference, and is for `_of_others` to judge."""
    lines = [_line(call, known.values[at]) for call, at in zip(match.values, match.likeness.argmax(1), strict=True)]
    limits = [_ROUNDING * (1 + abs(factor)) if is_rounded else _FLOATS * deviation for factor, _, _, deviation in lines]
    same = [line for line, limit in zip(lines, limits, strict=True) if line[2] <= limit]
    if 2 * len(same) <= len(lines):
        return None
    factor, offset, *_ = (float(number) for number in numpy.median(numpy.array(same), 0))
    deviation = float(known.values.std())
    is_right = abs(factor - 1) < _SCALE_OFF and abs(offset) < (_LEVELS_OFF if is_rounded else _SCALE_OFF * deviation)
    return None if is_right else (factor, offset)


def _of_others(match: _Match, known: _Known) -> tuple[float, float] | None:
    """Returns (factor, offset) that inputs have beside the samples most like them, if no sample is so far from its own
    neighbours; None if they are like samples."""
    ratios, moves = _beside(match.values, match.likeness, known.values)
    usual_ratios, usual_moves = _beside(known.values, known.alike, known.values)
    factor, move = float(numpy.median(ratios)), float(numpy.median(moves))
    slack = _MEAN_OFF * float(known.values.std())
    is_usual = usual_ratios.min() / _RATIO_OFF <= factor <= usual_ratios.max() * _RATIO_OFF
    if is_usual and usual_moves.min() - slack <= move <= usual_moves.max() + slack:
        return None
    nearest = match.likeness.argmax(1)
    return factor, float(numpy.median(match.values.mean(1) - factor * known.values[nearest].mean(1)))


def _beside(values: numpy.ndarray, likeness: numpy.ndarray, samples: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the deviation of each row divided by the deviation of the samples most like it, and the distance of the means."""
    nearest = numpy.argsort(-likeness, 1)[:, :_NEIGHBOURS]
    deviations = numpy.maximum(numpy.median(samples.std(1)[nearest], 1), 1e-12)
    return values.std(1) / deviations, values.mean(1) - numpy.median(samples.mean(1)[nearest], 1)


def _known(samples: numpy.ndarray) -> _Known:
    units = unit_rows(samples)
    alike = units @ units.T
    numpy.fill_diagonal(alike, -1.0)
    return _Known(samples, units, alike)


def _match(words: str, values: numpy.ndarray, known: _Known) -> _Match:
    calls = values.reshape(len(values), -1).astype(numpy.float64)
    return _Match(words, calls, unit_rows(calls) @ known.units.T)


def _line(call: numpy.ndarray, sample: numpy.ndarray) -> tuple[float, float, float, float]:
    """Returns factor and offset of a call's input as a linear function of the sample, the deviation from it, and the input's
    own deviation. Clipped values are left out."""
    kept = (call > call.min()) & (call < call.max())
    if kept.sum() < 3 or not numpy.ptp(sample[kept]):
        kept = numpy.ones(len(call), bool)
    moved = sample[kept] - sample[kept].mean()
    factor = float((moved * call[kept]).sum() / max((moved * moved).sum(), 1e-30))
    offset = float(call[kept].mean() - factor * sample[kept].mean())
    return factor, offset, float((call[kept] - factor * sample[kept] - offset).std()), float(call.std())


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
        axes_of = ", ".join(map(str, stored))
        words = f"if they are read as {own}, the axes {axes_of} of the model's {list(dims)}: write them in the model's order"
        yield words, values
    if kind.itemsize > 1:
        yield "if the bytes of each value are swapped: the sender has the other byte order", calls.byteswap()
    if kind.kind in "iu":
        words = "if the highest bit of each is inverted: signed and unsigned values (0 or 128 for the middle) are mixed up"
        yield words, calls ^ numpy.array(1 << 8 * kind.itemsize - 1, f"u{kind.itemsize}").view(kind)
