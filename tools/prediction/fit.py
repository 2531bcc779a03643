# SPDX-License-Identifier: MIT
"""Fits what calls cost to measured layers: sums of products of their sizes, none of them negative, chosen one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy

from aidge_build.plan.prediction.described import Described
from aidge_build.plan.prediction.quantities import quantities, value_of, words_of

FOLDS, FEWEST, FEWEST_OF_A_VARIANT = 5, 4, 24
LEAST_SHARE, MAY_WORSEN = 0.002, 1.03  # of a term on the average; by how much leaving it out may enlarge the error
MOST_ARGUMENTS = 12
MOST_GEOMETRIES = 4  # numbers of `work`: a kernel that names more says how often each of its loops turns
OF_A_CHOICE = 300  # rows by which the vocabulary is chosen

GEOMETRIES = (("blocks", "rest"), ("line_blocks", "line_rest"), ("runs", "rest"), ("line_runs", "line_rest"))
SUMS = (
    "terms terms_by_2 terms_by_4 terms_by_8 terms_by_16 kernel_height*row_by_16 kernel_height*row_by_4 kernel_height*depth_by_2 "
    "taps*depth_by_2 taps*depth_by_4 taps*depth_by_16 kernel_height*kernel_pairs kernel_height*kernel_halves"
).split()
OF_A_BLOCK = ("*kernel_height", "*taps", "*float_share", "*kernel_height*depth_by_4", "*kernel_height*depth_by_4*stride_width")
BESIDE = (
    "one groups groups*terms constants positions positions*terms positions*terms_by_4 positions*terms_by_16 "
    "positions*kernel_height positions*taps lines lines*kernel_height lines*kernel_height*source_width lines*source_width*depth "
    "lines*kernel_height*source_width*depth lines*kernel_height*row_by_16 inputs source_lines source_lines*source_width "
    "source_lines*channels_by_4 lines*channels_by_4 channels_by_4*source_lines*source_width elements batches batches*groups "
    "lines*groups lines*groups*kernel_height lines*groups*terms"
).split()
OTHER = (
    "one elements inputs positions channels lines width groups blocks value_blocks value_rest row_blocks row_rest taps "
    "constants elements*taps "
    "positions*groups*taps positions*groups lines*groups positions*taps lines*kernel_height lines*groups*kernel_height "
    "inputs*groups blocks*groups blocks*groups*taps source_lines source_lines*groups source_lines*depth source_width "
    "lines*channels channels_by_4 channels_by_8 channels_by_16 positions*channels_by_4 positions*channels_by_8 batches "
    "positions*channels_by_16 positions*channels_by_16*taps lines*channels_by_16 source_lines*depth_by_16"
).split()


@dataclass(frozen=True)
class Row:
    """A measured layer of a model."""

    described: Described
    instructions: int
    model: str


@dataclass(frozen=True)
class Fitted:
    """Instructions per unit of each term, and the 95th percentile of the relative error on networks that were left out; `rows`
    are those that were fitted, without the ones whose variant is too rare."""

    rows: Sequence[Row]
    terms: dict[str, float]
    error: float


def vocabularies(rows: Sequence[Row], found: Sequence[dict[str, float]]) -> list[list[str]]:
    """Sets of terms on which the instructions of such calls may depend; one of them is taken."""
    words = [word for word in _beginning_with("is_", found) if any(word not in one for one in found)]
    if any(row.described.macs for row in rows):
        return _of_products(_beginning_with("work_", found), words)
    values = {name: {one.get(name) for one in found} for name in _beginning_with("of_", found)}
    moving = [name for name, several in values.items() if len(several) > 1 and min(number or 0 for number in several) >= 0]
    some = moving[:MOST_ARGUMENTS]
    pairs, triples = map("*".join, combinations(some, 2)), map("*".join, combinations(some, 3))
    of_words = [f"{word}*{term}" for word in words for term in ("one", "elements", "inputs", "positions", "lines")]
    return [[*OTHER, *of_words], [*OTHER, *some, *of_words], [*OTHER, *some, *pairs, *of_words], [*some, *pairs, *triples, "one"]]


def _beginning_with(prefix: str, found: Sequence[dict[str, float]]) -> list[str]:
    return sorted({name for one in found for name in one if name.startswith(prefix)})


def _of_products(work: Sequence[str], words: Sequence[str]) -> list[list[str]]:
    if len(work) > MOST_GEOMETRIES:
        return [[*work, "one", "elements", "positions", "inputs", *(f"{word}*one" for word in words)]]
    done = [*work, *(f"{word}*{name}" for word in words for name in work)]
    geometries = [*((name,) for name in work), *GEOMETRIES]
    return [list(dict.fromkeys([*_linear(geometry, inner, words), *done])) for geometry in geometries for inner in SUMS]


def _linear(geometry: Sequence[str], inner: str, words: Sequence[str]) -> list[str]:
    blocks = [f"{name}*groups" for name in geometry]
    terms = [f"{block}{factor}" for block in blocks for factor in ("", f"*{inner}", *OF_A_BLOCK)]
    terms += [*geometry, *(f"{name}*{inner}" for name in geometry), *BESIDE]
    terms += [
        f"{word}*{term}" for word in words for term in ("one", "inputs", "positions", *blocks, *(f"{b}*{inner}" for b in blocks))
    ]
    return list(dict.fromkeys(terms))


def solved(factors: numpy.ndarray, counts: numpy.ndarray) -> numpy.ndarray:
    """Non-negative numbers of the least relative error, few of which are not 0: what hardly matters is left out."""
    relative = factors / counts[:, None]
    largest = relative.max(axis=0)
    kept = numpy.flatnonzero(largest)
    wanted = numpy.ones(len(counts))
    weights, error = least_squares(relative[:, kept] / largest[kept], wanted)
    kept, weights = kept[weights > 0], weights[weights > 0]
    while len(kept) > 1:
        shares = (relative[:, kept] / largest[kept] * weights).mean(axis=0)
        order = numpy.argsort(shares)[:4]
        trials = []
        for index in order:
            left = numpy.delete(kept, index)
            trials.append((*least_squares(relative[:, left] / largest[left], wanted), left, shares[index]))
        best = min(trials, key=lambda trial: trial[1])
        if best[1] > error * MAY_WORSEN and best[1] ** 2 > (error**2 + LEAST_SHARE**2 * len(counts)):
            break
        weights, _, kept, _ = best
        kept, weights = kept[weights > 0], weights[weights > 0]
    result = numpy.zeros(factors.shape[1])
    result[kept] = weights / largest[kept]
    return result


def least_squares(factors: numpy.ndarray, wanted: numpy.ndarray) -> tuple[numpy.ndarray, float]:
    """Non-negative numbers whose products with the factors are nearest to what is wanted, and how far from it they are."""
    from scipy.optimize import nnls

    return nnls(factors, wanted, maxiter=100 * factors.shape[1])


def fitted(rows: Sequence[Row]) -> Fitted | None:
    """The numbers for calls that cost alike; its error is from fits that did not see the network of the layer. None where too
    few were measured."""
    rows = without_rare_words(rows)
    if len(rows) < FEWEST or len({row.model for row in rows}) < 2:
        return None
    found = [quantities(row.described) for row in rows]
    step = max(1, len(rows) // OF_A_CHOICE)
    trials = []
    for terms in vocabularies(rows, found):
        factors, counts = _factors(terms, found[::step]), _counts(rows[::step])
        if factors.any(axis=1).all():
            errors = left_out_errors(rows[::step], factors, counts)
            trials.append((float(numpy.sqrt((numpy.minimum(numpy.abs(errors), 1) ** 2).mean())), terms))
    _, terms = min(trials, key=lambda trial: trial[0])
    factors, counts = _factors(terms, found), _counts(rows)
    kept = solved(factors, counts)
    error = _percentile(left_out_errors(rows, factors, counts))
    return Fitted(rows, {terms[index]: float(kept[index]) for index in numpy.flatnonzero(kept)}, error)


def _factors(terms: Sequence[str], found: Sequence[dict[str, float]]) -> numpy.ndarray:
    """The value of each term in each row; 0 for a term that hardly any row has."""
    factors = numpy.array([[value_of(term, one) for term in terms] for one in found])
    factors[:, (factors > 0).sum(axis=0) < FEWEST] = 0
    return factors


def _counts(rows: Sequence[Row]) -> numpy.ndarray:
    return numpy.array([row.instructions for row in rows], float)


def without_rare_words(rows: Sequence[Row]) -> list[Row]:
    """The rows whose functions have no word that fewer than FEWEST of them have."""
    seen = Counter(word for row in rows for word in words_of(row.described))
    return [row for row in rows if all(seen[word] >= FEWEST for word in words_of(row.described))]


def left_out_errors(rows: Sequence[Row], factors: numpy.ndarray, counts: numpy.ndarray) -> numpy.ndarray:
    """The relative error of each row by a fit to the rows of other networks."""
    models = sorted({row.model for row in rows})
    fold = numpy.array([models.index(row.model) % min(FOLDS, len(models)) for row in rows])
    errors = numpy.full(len(rows), 1.0)
    for number in range(fold.max() + 1):
        inside = fold != number
        if inside.sum() >= FEWEST:
            errors[~inside] = factors[~inside] @ solved(factors[inside], counts[inside]) / counts[~inside] - 1
    return errors


def _percentile(errors: numpy.ndarray) -> float:
    return float(numpy.quantile(numpy.abs(errors), 0.95)) if len(errors) else 1.0


def by_family(rows: Iterable[Row], key) -> dict[str, list[Row]]:
    """Rows by what the key says of their call."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row.described)].append(row)
    return dict(sorted(found.items()))


def variant_of(described: Described) -> str:
    """The words of the function's name."""
    return " ".join(sorted(words_of(described)))
