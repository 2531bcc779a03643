# SPDX-License-Identifier: MIT
"""Whether windows begin later or earlier than samples that are cut at an event, such as a beat or a word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

_LEAST_LENGTH, _FARTHEST = 16, 64  # of the axis in elements; of a shift, which is a quarter of the axis at most
_MOST_ROWS, _LEAST_ROWS, _MOST_VALUES = 400, 50, 1 << 19  # that are compared
_MOST_ELEMENTS = 4096  # of an input: a larger one would take seconds
_JITTER, _AGREE = 1, 2 / 3  # elements; the share of the calls with the same shift
_ALIKE = 1 / 3  # of the shift: half of the samples are so far from each other at most
_RARE, _CHANCE = 0.02, 1e-3  # of samples that have this shift against another sample; that all calls have it by chance
_CLEARLY = 0.5  # a shift leaves at most half of the difference to a sample


@dataclass(frozen=True)
class Shift:
    """How far inputs are shifted along an axis, positive if their windows begin late, and the median correlations with the
    sample most like each, without the shift and with it."""

    axis: int
    by: int
    plain: float
    shifted: float


def common_shift(calls: numpy.ndarray, samples: numpy.ndarray) -> Shift | None:
    """Returns the shift that the inputs of the calls [call, ...] have in common against the samples [sample, ...].

    None for inputs without one, and for samples that are shifted against each other themselves: windows of a stream begin
    anywhere.
    """
    calls, samples = _spread(calls), _spread(samples)
    axis = int(numpy.argmax(samples.shape[1:]))
    length = samples.shape[1 + axis]
    if length < _LEAST_LENGTH or len(samples) < _LEAST_ROWS or samples[0].size > _MOST_ELEMENTS:
        return None
    calls, samples = (numpy.moveaxis(rows, 1 + axis, -1).astype(numpy.float32) for rows in (calls, samples))
    farthest = min(length // 4, _FARTHEST)
    shifts = numpy.arange(-farthest, farthest + 1)
    found = numpy.array([_likeness(calls, samples, by).max(1) for by in shifts])  # [shift, call]
    best = shifts[found.argmax(0)]
    by = int(numpy.median(best))
    agree = numpy.abs(best - by) <= _JITTER
    if not _JITTER < abs(by) < farthest or agree.mean() < _AGREE:
        return None
    plain, shifted = (float(numpy.median(found[farthest + one][agree])) for one in (0, by))
    if 1 - shifted >= _CLEARLY * (1 - plain):
        return None
    own = numpy.array([(_likeness(samples, samples, one) - 2 * numpy.eye(len(samples))).max(1) for one in shifts])
    known = shifts[own.argmax(0)]
    chance = (1 + int((numpy.abs(known - by) <= _JITTER).sum())) / (2 + len(known))
    are_cut_alike = numpy.median(numpy.abs(known)) <= _ALIKE * abs(by)
    is_rare = chance <= _RARE and chance ** int(agree.sum()) < _CHANCE
    return Shift(axis, by, plain, shifted) if are_cut_alike and is_rare else None


def _spread(rows: numpy.ndarray) -> numpy.ndarray:
    """Returns so many rows that they are compared quickly, from the whole of a file that may be sorted."""
    most = min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_VALUES // max(rows[0].size, 1)))
    return rows[numpy.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int)]


def _likeness(rows: numpy.ndarray, samples: numpy.ndarray, by: int) -> numpy.ndarray:
    """Returns the correlations [row, sample] of rows that begin `by` elements late, where both have elements."""
    length = rows.shape[-1]
    return unit_rows(rows[..., max(-by, 0) : length - max(by, 0)]) @ unit_rows(samples[..., max(by, 0) : length - max(-by, 0)]).T


def unit_rows(values: numpy.ndarray) -> numpy.ndarray:
    """Returns the rows [row, element] without their mean, of length 1; constant ones and ones that are not finite become 0."""
    flat = values.reshape(len(values), -1)
    spread = numpy.nan_to_num(flat - flat.mean(1, keepdims=True), posinf=0, neginf=0)
    length = numpy.linalg.norm(spread, axis=1, keepdims=True)
    return spread / numpy.where(length > 0, length, 1)
