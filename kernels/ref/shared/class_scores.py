# SPDX-License-Identifier: MIT
"""Labels and transformed scores of classifiers, as text of the functions that a library generates for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Argument, Constant
from aidge_build.graph.dtype import DType


def transform_name(transform) -> str:
    """How the name of a generated function says the transform."""
    return transform.name.lower()


def transform_text(transform, scores: str, count: str) -> str:
    """The statement that transforms a row of scores; none for NONE."""
    if transform.name == "NONE":
        return ""
    return f"aidge_ref_scores_{transform_name(transform)}({scores}, {count});"


class LabelTable:
    """The labels of classes by their places: no table where they are the places, else one of the smallest type."""

    def __init__(self, labels: Sequence[int]):
        self._labels = tuple(labels)
        self._dtype = smallest(self._labels)
        self._counts = self._labels == tuple(range(len(self._labels)))

    @property
    def name(self) -> str:
        """How the name of a generated function says the kind of labels."""
        return "places" if self._counts else self._dtype.name

    @property
    def parameter(self) -> str:
        """The parameter of the generated function, "" for none."""
        return "" if self._counts else f", const {self._dtype.c_type} *labels"

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The argument of its call."""
        return () if self._counts else (Constant("labels", numpy.array(self._labels, self._dtype.numpy)),)

    def at(self, place: str) -> str:
        """The label of a place, in C."""
        return place if self._counts else f"labels[{place}]"


def smallest(values: Sequence[int]) -> DType:
    """The smallest signed type that holds all of these integers."""
    return next(
        dtype for dtype in (DType.int8, DType.int16, DType.int32, DType.int64) if dtype.holds(numpy.array(values, numpy.int64))
    )
