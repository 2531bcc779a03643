# SPDX-License-Identifier: MIT
"""Whether two sets of counts may come from one source: exact tests, without assumptions about distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

LEAST_BLOCKS, BLOCK = 5, 0.6  # long enough for neighbours that are alike, and enough of them
CHANCE = 3.0  # standard deviations that independent samples may differ from an effect of 1
FEW_DRAWS, LARGE = 1000, 0.1


def same_source(reference: Sequence[int], field: Sequence[int], draws: int) -> float:
    """Returns the probability of a chi-square as large as between these histograms, if the inferences of both were mixed and
    dealt out again: a permutation test with so many `draws` of a fixed seed, fewer if the first of them show that it is large."""
    totals = numpy.array(reference) + numpy.array(field)
    used, count = totals > 0, int(sum(field))
    totals, seen = totals[used], numpy.array(field)[used]
    if count == 0 or count == totals.sum() or len(totals) < 2:
        return 1.0
    expected = totals * count / totals.sum()
    found, random = ((seen - expected) ** 2 / expected).sum() * (1 - 1e-12), numpy.random.default_rng(0)
    larger, done = 0, 0
    for size in (FEW_DRAWS, draws - FEW_DRAWS):
        dealt = random.multivariate_hypergeometric(totals, count, size=size, method="marginals")
        larger += int((((dealt - expected) ** 2 / expected).sum(axis=1) >= found).sum())
        done += size
        if larger > LARGE * FEW_DRAWS:
            break
    return (1 + larger) / (done + 1)


def beyond_range(samples: int, inferences: int, outside: int) -> float:
    """Returns the largest probability that so many of the `inferences` are outside of the range of the samples, if both have one
    source. The k largest of N + n numbers are all among n of them with probability C(n, k) / C(N + n, k); both ends of the range
    count, so half of `outside` is beyond one of them."""
    one_end = -(-outside // 2)
    if outside == 0:
        return 1.0
    chance = math.prod((inferences - taken) / (samples + inferences - taken) for taken in range(one_end))
    return min(1.0, 2 * chance)


def design_effect(course: numpy.ndarray) -> float:
    """Returns how many neighbouring inferences count as one: the variance of a bin's share among blocks of samples, as a multiple
    of its variance for independent samples (Kish); 1.0 if chance explains it. `course` is the bin of each sample, in order."""
    length = math.ceil(len(course) ** BLOCK)
    blocks = len(course) // length
    if blocks < LEAST_BLOCKS:
        return 1.0
    parts = course[: blocks * length].reshape(blocks, length)
    used = numpy.unique(parts)
    if len(used) < 2:
        return 1.0
    shares = numpy.stack([(parts == one).mean(axis=1) for one in used])
    among = (length * shares.var(axis=1, ddof=1) / shares.mean(axis=1)).sum() / (len(used) - 1)
    by_chance = CHANCE * math.sqrt(2 / ((blocks - 1) * (len(used) - 1)))
    return float(among) if among > 1 + by_chance else 1.0


def thinned(counts: Sequence[int], effect: float) -> tuple[int, ...]:
    """Returns the counts divided by the effect: whole numbers with the whole part of their sum, by largest remainders."""
    shares = [count / effect for count in counts]
    whole = [math.floor(share) for share in shares]
    missing = math.floor(sum(counts) / effect) - sum(whole)
    for index in sorted(range(len(shares)), key=lambda index: whole[index] - shares[index])[:missing]:
        whole[index] += 1
    return tuple(whole)
