# SPDX-License-Identifier: MIT
"""Whether a device sees what the samples are, and answers as usual: one test for each number of the monitor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy

from aidge_build.measure.field.counts import Bins, Counts, Reference
from aidge_build.measure.field.homogeneity import beyond_range, design_effect, same_source, thinned
from aidge_build.plan.monitoring import Histogram, Monitoring

LEAST_DRAWS, DRAWS_OF_A_LIMIT = 20_000, 20
LEAST_SHIFT = 0.25  # of the mean bin, to call it higher or lower


@dataclass(frozen=True)
class Finding:
    """One test: `what` of the input or output `of`; the counts compared; `chance` is the probability of such a difference without
    a change, `is_flagged` says that it is below the limit of this test."""

    what: str
    of: str
    reference: Bins
    field: Bins
    chance: float
    is_flagged: bool

    @property
    def direction(self) -> str:
        """Whether the field's bins are higher or lower."""
        means = [numpy.average(range(len(bins)), weights=bins) for bins in (self.reference, self.field) if sum(bins)]
        if len(means) < 2 or abs(means[0] - means[1]) < LEAST_SHIFT:
            return "other"
        return "higher" if means[1] > means[0] else "lower"


@dataclass(frozen=True)
class Verdict:
    """The findings about a dump; `counted` are its inferences, `independent` the number that they are worth."""

    inferences: int
    counted: int
    independent: int
    false_alarms: float
    findings: tuple[Finding, ...]

    @property
    def flagged(self) -> tuple[Finding, ...]:
        """The findings below their limit."""
        return tuple(one for one in self.findings if one.is_flagged)


def verdict_on(monitoring: Monitoring, field: Counts, counts: Counts, samples: Reference | None, false_alarms: float) -> Verdict:
    """Returns the verdict on a dump, compared with `counts`. `samples` are the samples in their order: neighbours that are alike
    count less. The probability of any flag without a change is `false_alarms` at most."""
    effects = [design_effect(course) for course in samples.courses] if samples else [1.0] * len(monitoring.histograms)
    tests = len(monitoring.histograms) + 2 * len(monitoring.inputs)
    limit = false_alarms / max(1, tests)
    draws = max(LEAST_DRAWS, round(DRAWS_OF_A_LIMIT / limit))
    found = [
        *_histograms(monitoring.histograms, counts, field, effects, draws),
        *_elements(monitoring, counts, field, effects, draws, samples),
    ]
    worth = int(field.counted / max([1.0, *effects]))
    findings = tuple(Finding(what, of, before, now, chance, chance <= limit) for what, of, before, now, chance in found)
    return Verdict(field.inferences, field.counted, worth, false_alarms, findings)


_Found = tuple[str, str, Bins, Bins, float]


def _histograms(
    histograms: Sequence[Histogram], counts: Counts, field: Counts, effects: Sequence[float], draws: int
) -> Iterator[_Found]:
    for one, before, now, effect in zip(histograms, counts.bins, field.bins, effects, strict=True):
        yield one.what, one.of, before, now, same_source(thinned(before, effect), thinned(now, effect), draws)


def _elements(
    monitoring: Monitoring, counts: Counts, field: Counts, effects: Sequence[float], draws: int, samples: Reference | None
) -> Iterator[_Found]:
    """Yields the tests of inferences with elements at the ends of their type, and outside of the range of the samples."""
    for one, before, now in zip(monitoring.inputs, counts.inputs, field.inputs, strict=True):
        own = [effect for effect, histogram in zip(effects, monitoring.histograms, strict=True) if histogram.of == one.name]
        effect = max([1.0, *own])
        pairs = []
        for first, second in ((before.with_saturated, now.with_saturated), (before.with_beyond, now.with_beyond)):
            pairs.append(((counts.counted - first, first), (field.counted - second, second)))
        (ends, ends_now), (outside, outside_now) = pairs
        if not one.dtype.is_float:
            yield "saturation", one.name, ends, ends_now, same_source(thinned(ends, effect), thinned(ends_now, effect), draws)
        if one.seen is None:
            continue
        if samples is not None and counts is samples.counts and not before.with_beyond:
            numbers = (int(number / effect) for number in (one.seen.samples, field.counted, now.with_beyond))
            chance = beyond_range(*numbers)
        else:
            chance = same_source(thinned(outside, effect), thinned(outside_now, effect), draws)
        yield "beyond the range", one.name, outside, outside_now, chance
