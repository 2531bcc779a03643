# SPDX-License-Identifier: MIT
"""Keeps a few measured layers of each function as vectors for the tests: of networks that no table was fitted to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from aidge_build.plan.prediction.quantities import family_of
from tools.prediction.fit import Row, by_family

OF_A_FUNCTION = 3


def write_kept(target: Path, features: Iterable[str], rows: Sequence[Row]) -> None:
    """The largest, the median and the smallest layer of each function, with what was measured."""
    kept = []
    for own in by_family(rows, lambda described: f"{described.library} {family_of(described)}").values():
        ordered = sorted(own, key=lambda row: (row.instructions, row.model, row.described.function))
        places = sorted({0, len(ordered) // 2, len(ordered) - 1})[:OF_A_FUNCTION]
        kept += [{"instructions": ordered[place].instructions, **ordered[place].described.as_json()} for place in places]
    lines = ",\n".join(json.dumps(layer, sort_keys=True) for layer in kept)
    target.write_text(f'{{"features": {json.dumps(sorted(features))}, "layers": [\n{lines}\n]}}\n')
