# SPDX-License-Identifier: MIT
"""Images in other sizes: places and weights of four pixels are integers of 10 bits."""

from __future__ import annotations

import numpy

from aidge_build.base.errors import AidgeError
from aidge_build.operators.arithmetic.fixed_places import BITS, fixed_places, rounded_away
from aidge_build.operators.double.moves import moved
from aidge_build.operators.meanings import means
from aidge_build.operators.resize import Resize

COORDINATES = ("align_corners", "asymmetric", "half_pixel")


@means(Resize)
def _resized(operator, values, inputs, outputs):
    if operator.selects:
        return moved(operator, values, inputs, outputs)
    (data,), (tensor,), (output,) = values, inputs, outputs
    rows, columns = places_of(operator, tensor.dims)
    if tensor.quantization != output.quantization:
        raise AidgeError("Resize between two quantizations has no meaning under the contract tflite", code="ROUNDING")
    return (rounded_away(_weighted(data.astype(numpy.int64), rows, columns), 2 * BITS).astype(output.dtype.numpy),)


def places_of(operator: Resize, dims: tuple[int, ...]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns for each row and each column of the result {first, second, share of the second}; AidgeError if there is no
    meaning."""
    if operator.mode != "linear" or operator.coordinates not in COORDINATES or len(dims) != 4 or operator.dims[:2] != dims[:2]:
        raise AidgeError("this Resize by weights has no meaning under the contract tflite", code="ROUNDING")
    found = [fixed_places(size, made, operator.coordinates) for size, made in zip(dims[2:], operator.dims[2:])]
    for size, places in zip(dims[2:], found):
        if places[:, :2].max() >= size:
            raise AidgeError(f"a position is beyond the last of {size} pixels, where LiteRT reads other data", code="ROUNDING")
    return found[0], found[1]


def _weighted(data: numpy.ndarray, rows: numpy.ndarray, columns: numpy.ndarray) -> numpy.ndarray:
    (above, below, down), (left, right, across) = rows.T, columns.T
    down = down[:, None]
    sides = (data[:, :, above][..., side] * ((1 << BITS) - down) + data[:, :, below][..., side] * down for side in (left, right))
    first, second = sides
    return first * ((1 << BITS) - across) + second * across
