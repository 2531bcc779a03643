# SPDX-License-Identifier: MIT
"""SPACE_TO_BATCH_ND, a convolution, BATCH_TO_SPACE_ND: how converters write some dilated convolutions. It becomes one again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy

from aidge_build.sources.formats.tflite.file import TfliteOperator
from aidge_build.sources.formats.tflite.registry import pieces
from aidge_build.sources.formats.tflite.values import Value

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
_SHORTEST, _LONGEST = 3, 5  # operators of an image, and of rows, which become an image for the convolution
_PLAIN = {"padding": 1, "stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1}  # VALID


@dataclass(frozen=True)
class Spread:
    """The dilations and pads that the operators around a convolution give it.

    Rows of pixels (rank 3) get an axis of length 1 at the place `axis` for the convolution, and lose it after it.
    """

    dilations: tuple[int, ...]
    pads_begin: tuple[int, ...]
    pads_end: tuple[int, ...]
    axis: int | None = None


def spread_convolutions(
    operators: Sequence[TfliteOperator], outputs: Sequence[int], value: Callable[[int], Value]
) -> tuple[tuple[TfliteOperator, ...], Mapping[int, Spread]]:
    """Returns the operators with each chain around a convolution replaced by the convolution, wherever that means the same, and
    the spread of these convolutions by the operator's number.

    Pixels of an image that are `block` apart become images of a batch: a convolution of them, put back, is a convolution with
    taps `block` apart. Pixels that are cut off after it need no padding before it. `value` gives the file's facts about a tensor.
    """
    readers: dict[int, list[TfliteOperator]] = {}
    for operator in operators:
        for index in operator.inputs:
            readers.setdefault(index, []).append(operator)
    kept, found = {operator.index: operator for operator in operators}, {}
    for first in operators:
        chain = [first] if first.type == "SPACE_TO_BATCH_ND" else []
        while chain and chain[-1].type != "BATCH_TO_SPACE_ND" and len(chain) < _LONGEST:
            reader = _only_reader(chain[-1], readers, outputs)
            chain = [] if reader is None else [*chain, reader]
        if len(chain) not in (_SHORTEST, _LONGEST):
            continue
        middle, last = chain[len(chain) // 2], chain[-1]
        spread = _spread(first, middle, last, value)
        if spread is not None and len(chain) == _LONGEST:
            spread = _of_rows(spread, chain, value)
        if spread is not None:
            kept[middle.index] = replace(middle, inputs=(first.inputs[0], *middle.inputs[1:]), outputs=last.outputs)
            found[middle.index] = spread
            for operator in (*chain[: len(chain) // 2], *chain[len(chain) // 2 + 1 :]):
                del kept[operator.index]
    return tuple(kept.values()), found


def _only_reader(
    operator: TfliteOperator, readers: Mapping[int, Sequence[TfliteOperator]], outputs: Sequence[int]
) -> TfliteOperator | None:
    """The operator that alone reads the only result of another one, as its data."""
    if len(operator.outputs) != 1 or operator.outputs[0] in outputs:
        return None
    found = readers.get(operator.outputs[0], [])
    return found[0] if len(found) == 1 and found[0].inputs.index(operator.outputs[0]) == 0 else None


def _of_rows(spread: Spread, chain: Sequence[TfliteOperator], value: Callable[[int], Value]) -> Spread | None:
    """The spread of a convolution of rows, between EXPAND_DIMS and RESHAPE or SQUEEZE; None where these are something else."""
    _, widened, middle, narrowed, _ = chain
    if widened.type != "EXPAND_DIMS" or narrowed.type not in ("RESHAPE", "SQUEEZE") or len(spread.dilations) != 1:
        return None
    row, image, result, made = (
        value(index) for index in (widened.inputs[0], widened.outputs[0], middle.outputs[0], narrowed.outputs[0])
    )
    if row.quantization != image.quantization or result.quantization != made.quantization:
        return None
    for axis in (1, 2):  # the places of rows and columns
        if (*row.dims[:axis], 1, *row.dims[axis:]) == image.dims and (*made.dims[:axis], 1, *made.dims[axis:]) == result.dims:
            place = axis - 1  # of the new one among the spatial axes
            return Spread(
                _inserted(spread.dilations, place, 1),
                _inserted(spread.pads_begin, place, 0),
                _inserted(spread.pads_end, place, 0),
                axis,
            )
    return None


def _inserted(numbers: tuple[int, ...], place: int, number: int) -> tuple[int, ...]:
    return (*numbers[:place], number, *numbers[place:])


def _spread(first: TfliteOperator, middle: TfliteOperator, last: TfliteOperator, value: Callable[[int], Value]) -> Spread | None:
    if not (_are_around(first, last) and _is_plain(middle)):
        return None
    for one in (first, last):
        if value(one.inputs[0]).quantization != value(one.outputs[0]).quantization:
            return None
    arrays = [value(one.inputs[place]).data for one in (first, last) for place in (1, 2)]
    if not all(_are_integers(array) for array in arrays):
        return None
    blocks, pads, other, crops = arrays
    count = value(first.inputs[0]).rank - 2  # of axes between batch and channels
    if (
        count not in (1, 2)
        or [array.shape for array in arrays] != [(count,), (count, 2)] * 2
        or blocks.tolist() != other.tolist()
    ):
        return None
    sides = (pads.astype(int) - crops.astype(int)).T.tolist()
    if min(*sides[0], *sides[1]) < 0 or min(crops.min(), blocks.min() - 1) < 0:
        return None
    return Spread(tuple(blocks.tolist()), tuple(sides[0]), tuple(sides[1]))


def _are_around(first: TfliteOperator, last: TfliteOperator) -> bool:
    """Whether the last operator puts back what the first one spreads, as far as their inputs and outputs tell."""
    has_inputs = len(first.inputs) == len(last.inputs) == 3 and min(*first.inputs, *last.inputs) >= 0
    return last.type == "BATCH_TO_SPACE_ND" and has_inputs and len(last.outputs) == 1


def _are_integers(array: numpy.ndarray | None) -> bool:
    return array is not None and array.dtype.kind in "iu"


def _is_plain(middle: TfliteOperator) -> bool:
    """Whether it is a convolution without pads, strides and dilations."""
    if middle.type not in _CONVOLUTIONS:
        return False
    piece = pieces()[middle.type]
    options = middle.options(piece.options_kind, piece.options)
    return all(options[name] == wanted for name, wanted in _PLAIN.items())
