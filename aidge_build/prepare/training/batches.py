# SPDX-License-Identifier: MIT
"""Splits a data set into batches of the size that a graph was made for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy

from aidge_build.base.errors import AidgeError


def batches(
    data: Mapping[str, numpy.ndarray], size: int, random: numpy.random.Generator | None = None
) -> Iterator[dict[str, numpy.ndarray]]:
    """Yields the samples along axis 0 of every array, `size` at a time, in a new order for each call if `random` is given. The
    rest at the end, less than a whole batch, is left out: with `random` these are other samples each time.
    """
    counts = {name: len(values) for name, values in data.items()}
    if len(set(counts.values())) != 1:
        raise AidgeError(f"the arrays have different numbers of samples: {counts}", code="TRAINING")
    (count,) = set(counts.values())
    if not 0 < size <= count:
        raise AidgeError(f"batches of {size} of {count} samples", code="TRAINING", hint=f"a size from 1 to {count}")
    order = numpy.arange(count) if random is None else random.permutation(count)
    return ({name: values[order[at : at + size]] for name, values in data.items()} for at in range(0, count - size + 1, size))
