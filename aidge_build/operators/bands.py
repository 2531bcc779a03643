# SPDX-License-Identifier: MIT
"""Bands of operators (`Operator.band`): an operator that computes some rows, positions on axis 2, of outputs from rows of inputs.

A band exists where the same operator on a smaller image computes these rows and nothing else. Inputs that do not vary along the
rows are read as a whole. A constant that varies along the rows excludes bands, as all bands of a layer share its constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Band, Operator

ROWS = 2  # the axis
Rows = tuple[int, int]


def resized(numbers: tuple[int, ...], rows: int) -> tuple[int, ...]:
    """Returns the dims (or other numbers for each axis) with this number of rows."""
    return (*numbers[:ROWS], rows, *numbers[ROWS + 1 :])


def can_be_read_by_rows(tensor: Tensor) -> bool:
    """Whether its rows can be read one after another, with the same meaning for every row."""
    quantization = tensor.quantization
    return not tensor.is_constant and tensor.rank > ROWS and (quantization is None or quantization.axis != ROWS)


def band_of_rows(
    operator: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], rows: Rows, moved: int = 1
) -> Band | None:
    """Returns the band `operator` that reads these rows of its first `moved` inputs, and the other inputs as a whole."""
    if not all(can_be_read_by_rows(tensor) for tensor in (*inputs[:moved], *outputs)):
        return None
    return Band(operator, (*(rows,) * moved, *(None,) * (len(inputs) - moved)))


def same_rows(
    operator: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], first: int, last: int, broadcast: int = 1
) -> Band | None:
    """Returns the band of an operator that computes each row of all outputs from the same row of its first `broadcast` inputs.

    These inputs broadcast to the outputs; the other inputs have no rows.
    """
    if not all(map(can_be_read_by_rows, outputs)):
        return None
    reads: list[Rows | None] = []
    for tensor in inputs[:broadcast]:
        axis = ROWS - outputs[0].rank + tensor.rank if tensor is not None else -1
        if axis < 0 or tensor.dims[axis] == 1 and (tensor.is_constant or outputs[0].dims[ROWS] > 1 or axis < ROWS):
            reads.append(None)
        elif axis == ROWS and can_be_read_by_rows(tensor):
            reads.append((first, last))
        else:
            return None
    return Band(operator, (*reads, *(None,) * (len(inputs) - broadcast)))


def windowed_rows(
    operator: Any, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor], first: int, last: int
) -> Band | None:
    """Returns the band of an operator with a `window` that slides over input 0."""
    found = operator.window.band(inputs[0].dims[ROWS], first, last)
    return found and band_of_rows(replace(operator, window=found[0]), inputs, outputs, found[1])
