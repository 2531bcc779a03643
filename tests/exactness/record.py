# SPDX-License-Identifier: MIT
"""How the values of another runtime are written down: a digest of all, and those that differ from ours with their places."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy

FILE = Path(__file__).with_name("onnxruntime.json")


def digest(values: numpy.ndarray) -> str:
    """Of int8 values in order."""
    return hashlib.sha256(values.astype(numpy.int8).tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class Differences:
    """What to add to some of our values: "gap:change gap:change ...", a gap being the distance to the place before."""

    text: str

    @classmethod
    def between(cls, ours: numpy.ndarray, theirs: numpy.ndarray) -> Differences:
        changes = theirs.astype(int) - ours.astype(int)
        places = numpy.flatnonzero(changes)
        gaps = numpy.diff(places, prepend=0)
        return cls(" ".join(f"{gap}:{change:+d}" for gap, change in zip(gaps, changes[places], strict=True)))

    @property
    def count(self) -> int:
        return len(self.text.split())

    def applied(self, ours: numpy.ndarray) -> numpy.ndarray:
        """The values of the other runtime."""
        pairs = numpy.array([part.split(":") for part in self.text.split()], int).reshape(-1, 2)
        result = ours.astype(int)
        result[numpy.cumsum(pairs[:, 0])] += pairs[:, 1]
        return result
