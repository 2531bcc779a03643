# SPDX-License-Identifier: MIT
"""Comparison under the contract: integers to the last bit, floats relative to the largest value of the vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.run.verify.vectors import Vectors

FLOAT_TOLERANCE = 1e-4  # max|y - reference| / max|reference| per vector (design page ARITHMETIC, section 8)
HALF_TOLERANCE = 2.0**-8  # for references of a float16 runtime, which rounds every tensor to 11 bits


@dataclass(frozen=True)
class Difference:
    """The difference of a tensor from its reference. `unit` is "level" for integers, "relative" for floats."""

    name: str
    unit: str
    values: int
    differing_values: int
    max_difference: float
    within: bool

    def as_json(self) -> dict:
        """The same for programs."""
        return {
            "name": self.name,
            "unit": self.unit,
            "values": self.values,
            "differing_values": self.differing_values,
            "max_difference": self.max_difference,
        }


def compare(name: str, got: numpy.ndarray, wanted: numpy.ndarray) -> Difference:
    """Compares `got` with `wanted`, both [vector, dims...]. A float differs if it is beyond the tolerance."""
    distance, tolerance = _distances(got, wanted)
    count = int(numpy.count_nonzero(distance > tolerance))
    unit = "relative" if tolerance else "level"
    return Difference(name, unit, got.size, count, distance.max(initial=0).item(), count == 0)


def _distances(got: numpy.ndarray, wanted: numpy.ndarray) -> tuple[numpy.ndarray, float]:
    """Returns the distance of each value from its reference, and the largest that is allowed.

    Integers in steps of 1; floats relative to the largest finite reference of their vector. NaN equals NaN and nothing else.
    """
    if got.dtype.kind != "f":
        return numpy.abs(got.astype(numpy.int64) - wanted.astype(numpy.int64)), 0.0
    rows, references = (values.reshape(len(values), -1).astype(numpy.float64) for values in (got, wanted))
    same = (rows == references) | (numpy.isnan(rows) & numpy.isnan(references))
    with numpy.errstate(invalid="ignore", over="ignore"):
        distance = numpy.where(same, 0.0, numpy.abs(rows - references))
    finite = numpy.where(numpy.isfinite(references), numpy.abs(references), 0.0)
    scale = numpy.maximum(finite.max(axis=1, initial=0.0), numpy.finfo(numpy.float32).tiny)
    relative = numpy.where(numpy.isnan(distance), numpy.inf, distance) / scale[:, None]
    return relative.reshape(got.shape), HALF_TOLERANCE if wanted.dtype == numpy.float16 else FLOAT_TOLERANCE


def first_difference(order: list[str], got: Vectors, wanted: Vectors) -> dict | None:
    """The first tensor in `order` that differs, with the vector, index and both values of its first differing value."""
    for name in order:
        found = compare(name, got[name], wanted[name])
        if found.within:
            continue
        distance, tolerance = _distances(got[name], wanted[name])
        index = tuple(int(position) for position in numpy.argwhere(distance > tolerance)[0])
        return {
            "tensor": name,
            "vector": index[0],
            "index": list(index[1:]),
            "got": got[name][index].item(),
            "expected": wanted[name][index].item(),
            **{k: v for k, v in found.as_json().items() if k != "name"},
        }
    return None


def top1_equal(got: Vectors, wanted: Vectors) -> int:
    """Returns in how many vectors the largest value of every output has the same index."""
    hits = [
        got[name].reshape(len(got[name]), -1).argmax(1) == wanted[name].reshape(len(wanted[name]), -1).argmax(1)
        for name in wanted
    ]
    return int(numpy.logical_and.reduce(hits).sum())
