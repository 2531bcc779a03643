# SPDX-License-Identifier: MIT
"""Tree ensembles with onnxruntime's values: models and rows come from seeds, its labels and scores lie in forests.npz.

`python -m tests.exactness.forest_references`, where onnxruntime is installed, writes the file anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy
from onnx import TensorProto

from tests.forests import MODES, TRANSFORMS, random_model, random_rows

FILE = Path(__file__).with_name("forests.npz")
ROWS = 8
# Near 0.5, PROBIT is the difference of two numbers that are almost equal: its digits depend on the logarithm's last bit.
PROBIT_TOLERANCE = 2e-3
TOLERANCE = 1e-5
AGGREGATES = ("SUM", "AVERAGE", "MIN", "MAX")


@dataclass(frozen=True)
class Case:
    """A model by its seed: `base` is the number of base values."""

    seed: int
    votes: str
    count: int
    transform: str
    who: str
    base: int
    aggregate: str
    is_double: bool = False

    def _random(self, part: int) -> numpy.random.Generator:
        return numpy.random.default_rng([self.seed, part])

    def model(self) -> bytes:
        random = self._random(0)
        extra: dict[str, object] = {"post_transform": self.transform}
        if self.base:
            extra["base_values"] = random.normal(size=self.base).astype(numpy.float32).tolist()
        if self.votes == "target":
            extra["aggregate_function"] = self.aggregate
        weights = (0.125, 0.3, 0.0, 0.7) if self.seed % 2 or self.transform == "PROBIT" else ()
        modes = MODES if self.seed % 3 else [str(random.choice(MODES))]
        trees = int(random.integers(1, 7))
        model = random_model(random, self.votes, self.count, trees, 3, who=self.who, weights=weights, modes=modes, **extra)
        return model.file(ROWS, TensorProto.DOUBLE if self.is_double else TensorProto.FLOAT)

    def rows(self) -> numpy.ndarray:
        return random_rows(self._random(1), ROWS, 3, numpy.float64 if self.is_double else numpy.float32)

    def __str__(self) -> str:
        return f"{self.seed}-{self.votes}-{self.count}-{self.transform}-{self.who}-{self.base}"


def _cases() -> list[Case]:
    found = []
    for transform in TRANSFORMS:
        for who in ("first", "all"):
            for base in (0, 1, 2):
                if not (transform == "PROBIT" and who == "first" and base < 2):
                    found.append(Case(len(found), "class", 2, transform, who, base, "SUM"))
        for who in ("all", "tree", "any"):
            for base in (0, 3):
                found.append(Case(len(found), "class", 3, transform, who, base, "SUM"))
        for aggregate in AGGREGATES:
            found.append(Case(len(found), "target", 1, transform, "all", len(found) % 2, aggregate))
            found.append(Case(len(found), "target", 3, transform, ("all", "any")[len(found) % 2], 0, aggregate))
    found.append(Case(len(found), "target", 3, "NONE", "any", 3, "SUM"))
    found.append(Case(len(found), "target", 1, "NONE", "all", 1, "AVERAGE", is_double=True))
    found.append(Case(len(found), "class", 3, "SOFTMAX", "all", 3, "SUM", is_double=True))
    return found


CASES = tuple(_cases())


@cache
def _stored() -> dict[str, numpy.ndarray]:
    with numpy.load(FILE) as found:
        return dict(found)


def compare(case: Case, found: Sequence[numpy.ndarray]) -> None:
    """The labels are equal, the scores within the tolerance."""
    stored = _stored()
    *labels, scores = found
    for label in labels:
        assert label.tolist() == stored[f"{case.seed}_labels"].tolist()
    tolerance = PROBIT_TOLERANCE if case.transform == "PROBIT" else TOLERANCE
    expected = stored[f"{case.seed}_scores"]
    assert scores.dtype == expected.dtype and scores.shape == expected.shape
    numpy.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)


def _write() -> None:
    import onnxruntime

    found = {}
    for case in CASES:
        *labels, scores = onnxruntime.InferenceSession(case.model()).run(None, {"x": case.rows()})
        found |= {f"{case.seed}_labels": label.astype(numpy.uint8) for label in labels}
        found[f"{case.seed}_scores"] = scores
    numpy.savez_compressed(FILE, **found)


if __name__ == "__main__":
    _write()
