# SPDX-License-Identifier: MIT
"""The instructions that a library states for its calls: fitted to measured layers, in predicted/*.toml of the library's
folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from aidge_build.base.errors import AidgeError
from aidge_build.base.reading import require_shape, toml_of
from aidge_build.boards.cores import of_instructions
from aidge_build.contract.library import Library
from aidge_build.plan.prediction.described import Described
from aidge_build.plan.prediction.quantities import family_of, quantities, value_of, words_of

SCHEMA = 1
FOLDER, ENDING = "predicted/", ".toml"
RANGED = ("elements", "macs", "terms", "channels", "taps")  # quantities: an error grows outside their measured range
OF_AN_UNKNOWN_WORD = 0.5  # relative error of a variant of a function that nobody measured
_NUMBER = (int, float)
_ENTRY = {
    "function": str,
    "variant?": str,
    "words": [str],
    "layers": int,
    "error": _NUMBER,
    "terms": dict,
    "least": dict,
    "most": dict,
}
_SHAPE = {"schema": int, "features": [str], "optimize": [str], "cost": [_ENTRY]}
_HINT = "written by `python -m tools.prediction`: schema, features, optimize, [[cost]]"


@dataclass(frozen=True)
class Estimate:
    """Instructions of one call, and by how much most such estimates were off, relative to what was measured."""

    instructions: float
    error: float
    reason: str = ""  # why the error is more than the table's


@dataclass(frozen=True)
class CallCost:
    """Calls of a function take the sum of `terms` (instructions per unit of each product of quantities), measured on so many
    `layers` with sizes from `least` to `most`; `words` are the words of the function's names that were measured. A cost with a
    `variant` is only for calls with exactly these words. `error`: the 95th percentile of the relative error on networks left out
    of the fit."""

    function: str
    variant: str | None
    words: frozenset[str]
    layers: int
    error: float
    terms: Mapping[str, float]
    least: Mapping[str, float]
    most: Mapping[str, float]

    def estimate(self, described: Described) -> Estimate:
        """Returns the estimate of this call; the error grows with the distance of the shape from the measured shapes."""
        found = quantities(described)
        count = sum(factor * value_of(term, found) for term, factor in self.terms.items())
        unknown = sorted(words_of(described) - self.words)
        if unknown:
            return Estimate(count, max(OF_AN_UNKNOWN_WORD, self.error), f"'{unknown[0]}' was not measured")
        outside = {name: self._outside(name, found.get(name, 0.0)) for name in RANGED}
        furthest = max(outside, key=lambda name: outside[name])
        if outside[furthest] <= 1:
            return Estimate(count, self.error)
        return Estimate(count, self.error * outside[furthest], f"{furthest} {found[furthest]:,.0f} outside of what was measured")

    def _outside(self, name: str, value: float) -> float:
        """Returns how many times as large, or as small, the value is as anything that was measured; 1 inside the range."""
        least, most = self.least.get(name, value), self.most.get(name, value)
        return max(value / most if most else 1 + value, least / value if value else 1 + least, 1.0)


def costs_for(library: Library, features: Collection[str], optimize: str) -> dict[str, tuple[CallCost, ...]]:
    """Returns the costs that the library states for a core with exactly these features and for an objective: by the family of the
    call, the cost of a variant before the cost of all calls."""
    found: dict[str, list[CallCost]] = {}
    for path in sorted(library.files):
        if path.startswith(FOLDER) and path.endswith(ENDING):
            table = _table(library.files[path], f"{library.name}/{path}")
            if frozenset(table["features"]) == of_instructions(features) and optimize in table["optimize"]:
                for entry in table["cost"]:
                    found.setdefault(entry["function"], []).append(_cost(entry, f"{library.name}/{path}"))
    return {function: tuple(sorted(costs, key=lambda cost: cost.variant is None)) for function, costs in found.items()}


def estimate(costs: Mapping[str, Sequence[CallCost]], described: Described) -> Estimate | None:
    """Returns the estimate of the call by the tables of its library; None if nobody measured the function."""
    variant = " ".join(sorted(words_of(described)))
    for cost in costs.get(family_of(described), ()):
        if cost.variant in (None, variant):
            return cost.estimate(described)
    return None


@cache
def _table(data: bytes, where: str) -> dict:
    table = toml_of(data, where, "LIBRARY")
    require_shape(table, _SHAPE, where, "LIBRARY", _HINT)
    if table["schema"] != SCHEMA:
        raise AidgeError(f"schema {table['schema']} is unknown, {SCHEMA} is read", where=where, code="LIBRARY", hint=_HINT)
    return table


def _cost(entry: Mapping, where: str) -> CallCost:
    numbers = {**entry["terms"], **entry["least"], **entry["most"], "error": entry["error"]}
    wrong = [name for name, value in numbers.items() if type(value) not in _NUMBER or not 0 <= value < float("inf")]
    if wrong or not entry["terms"]:
        what = f"{wrong[0]} is {numbers[wrong[0]]!r}" if wrong else f"{entry['function']} has no terms"
        raise AidgeError(what, where=where, code="LIBRARY", hint="numbers are finite and not negative")
    return CallCost(
        entry["function"],
        entry.get("variant"),
        frozenset(entry["words"]),
        entry["layers"],
        entry["error"],
        entry["terms"],
        entry["least"],
        entry["most"],
    )
