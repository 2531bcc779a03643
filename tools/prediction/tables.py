# SPDX-License-Identifier: MIT
"""Writes what was fitted: kernels/<library>/predicted/<features>.toml."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from aidge_build.plan.prediction.quantities import family_of, quantities, words_of
from aidge_build.plan.prediction.table import RANGED, SCHEMA
from tools.prediction.corpora import BALANCED, HOLDS_FOR
from tools.prediction.fit import FEWEST_OF_A_VARIANT, Fitted, Row, by_family, fitted, variant_of

_ENTRY = "[[cost]]"


def tables(rows: Iterable[Row], features: Collection[str], board: str) -> dict[str, str]:
    """The text of each library's table for a core with these features."""
    return {
        library: "\n".join([_head(features, board), *_entries(own)]) + "\n"
        for library, own in by_family(rows, lambda described: described.library).items()
    }


def merged(old: str, new: str) -> str:
    """The old table with the new entries in place of those of the same functions."""
    (head, *before), (_, *entries) = (text.rstrip("\n").split(f"\n\n{_ENTRY}") for text in (old, new))
    renewed = {_function(entry) for entry in entries}
    kept = [entry for entry in before if _function(entry) not in renewed]
    ordered = sorted([*kept, *entries], key=_function)  # the order of a function's variants stays
    return f"\n\n{_ENTRY}".join([head, *ordered]) + "\n"


def _function(entry: str) -> str:
    return entry.split("\n")[1]


def _head(features: Collection[str], board: str) -> str:
    return "\n".join(
        [
            "# SPDX-License-Identifier: MIT",
            f"# Instructions of calls, fitted to layers of random networks measured on {board}: python -m tools.prediction.",
            f"schema = {SCHEMA}",
            f"features = {json.dumps(sorted(features))}",
            f"optimize = {json.dumps(HOLDS_FOR.get(board, [BALANCED]))}",
        ]
    )


def _entries(rows: Sequence[Row]) -> Iterable[str]:
    for function, own in by_family(rows, family_of).items():
        variants = by_family(own, variant_of)
        whole = fitted(own)
        if whole is None:
            continue
        for variant, some in variants.items():
            found = fitted(some) if len(variants) > 1 and len(some) >= FEWEST_OF_A_VARIANT else None
            if found is not None and found.error <= whole.error:
                yield _entry(function, variant, found)
        yield _entry(function, None, whole)


def _entry(function: str, variant: str | None, found: Fitted) -> str:
    sizes = [quantities(row.described) for row in found.rows]
    words = sorted({word for row in found.rows for word in words_of(row.described)})
    lines = ["", _ENTRY, f"function = {json.dumps(function)}"]
    lines += [] if variant is None else [f"variant = {json.dumps(variant)}"]
    lines += [
        f"words = {json.dumps(words)}",
        f"layers = {len(found.rows)}",
        f"error = {max(found.error, 1e-4):.2g}",
        f"terms = {_inline({term: found.terms[term] for term in sorted(found.terms)})}",
        f"least = {_inline({name: min(one[name] for one in sizes) for name in RANGED})}",
        f"most = {_inline({name: max(one[name] for one in sizes) for name in RANGED})}",
    ]
    return "\n".join(lines)


def _inline(numbers: dict[str, float]) -> str:
    return "{ " + ", ".join(f"{json.dumps(name)} = {float(f'{number:.6g}'):.12g}" for name, number in numbers.items()) + " }"
