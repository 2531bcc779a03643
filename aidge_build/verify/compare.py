# SPDX-License-Identifier: MIT
"""Comparison under the contract: integers to the last bit, floats relative to the largest value of the vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from aidge_build.verify.vectors import Vectors

FLOAT_TOLERANCE = 1e-4  # max|y - reference| / max|reference| per vector (design page ARITHMETIC, section 8)


@dataclass(frozen=True)
class Difference:
    """How a tensor differs from its reference. `unit` is "level" for integers, "relative" for floats."""

    name: str
    unit: str
    values: int
    differing_values: int
    max_difference: float
    within: bool

    def as_json(self) -> dict:
        return {
            "name": self.name,
            "unit": self.unit,
            "values": self.values,
            "differing_values": self.differing_values,
            "max_difference": self.max_difference,
        }


def compare(name: str, got: numpy.ndarray, wanted: numpy.ndarray) -> Difference:
    """Both [vector, dims...]; for floats a value differs when it is beyond the tolerance."""
    if got.dtype.kind != "f":
        distance = numpy.abs(got.astype(numpy.int64) - wanted.astype(numpy.int64))
        count = int(numpy.count_nonzero(distance))
        return Difference(name, "level", got.size, count, int(distance.max(initial=0)), count == 0)
    rows, references = got.reshape(len(got), -1).astype(numpy.float64), wanted.reshape(len(wanted), -1).astype(numpy.float64)
    same = (rows == references) | (numpy.isnan(rows) & numpy.isnan(references))
    with numpy.errstate(invalid="ignore", over="ignore"):
        distance = numpy.where(same, 0.0, numpy.abs(rows - references))
    finite = numpy.where(numpy.isfinite(references), numpy.abs(references), 0.0)
    scale = numpy.maximum(finite.max(axis=1, initial=0.0), numpy.finfo(numpy.float32).tiny)
    relative = numpy.where(numpy.isnan(distance), numpy.inf, distance) / scale[:, None]
    count = int(numpy.count_nonzero(relative > FLOAT_TOLERANCE))
    return Difference(name, "relative", got.size, count, float(relative.max(initial=0.0)), count == 0)


def first_difference(order: list[str], got: Vectors, wanted: Vectors) -> dict | None:
    """The first tensor in `order` that differs, with the vector, index and both values of its first differing value."""
    for name in order:
        found = compare(name, got[name], wanted[name])
        if found.within:
            continue
        differs = got[name].astype(numpy.float64) != wanted[name].astype(numpy.float64)
        if got[name].dtype.kind == "f":
            scale = (
                numpy.abs(wanted[name]).reshape(len(wanted[name]), -1).max(axis=1).reshape(-1, *(1,) * (wanted[name].ndim - 1))
            )
            differs = ~(numpy.abs(got[name] - wanted[name]) <= FLOAT_TOLERANCE * scale)
        index = tuple(int(position) for position in numpy.argwhere(differs)[0])
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
    """In how many vectors the largest value of every output stands at the same index."""
    hits = [
        got[name].reshape(len(got[name]), -1).argmax(1) == wanted[name].reshape(len(wanted[name]), -1).argmax(1)
        for name in wanted
    ]
    return int(numpy.logical_and.reduce(hits).sum())
