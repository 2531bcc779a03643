# SPDX-License-Identifier: MIT
"""SPACE_TO_BATCH_ND, a convolution, BATCH_TO_SPACE_ND: how older converters write a dilated convolution. It becomes one again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aidge_build.importers.tflite.registry import pieces
from aidge_build.importers.tflite.values import Value
from aidge_build.tflite_format import TfliteOperator

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
_PLAIN = {"padding": 1, "stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1}  # VALID


@dataclass(frozen=True)
class Spread:
    """What stands around a convolution: its taps are so far apart, and its input has these pads."""

    dilations: tuple[int, ...]
    pads_begin: tuple[int, ...]
    pads_end: tuple[int, ...]


def spread_convolutions(
    operators: Sequence[TfliteOperator], outputs: Sequence[int], value: Callable[[int], Value]
) -> tuple[tuple[TfliteOperator, ...], Mapping[int, Spread]]:
    """The operators with three of them replaced by one wherever that means the same, and the spread of those by their number.

    The places of an image that are `block` apart become images of a batch: a convolution of them, put back, is one whose taps are
    `block` apart. What is cut off behind it need not be padded before. `value` gives what the file says about a tensor.
    """
    readers: dict[int, list[TfliteOperator]] = {}
    for operator in operators:
        for index in operator.inputs:
            readers.setdefault(index, []).append(operator)
    kept, found = {operator.index: operator for operator in operators}, {}
    for first in operators:
        middle = _only_reader(first, "SPACE_TO_BATCH_ND", readers, outputs)
        last = None if middle is None else _only_reader(middle, "", readers, outputs)
        spread = None if last is None else _spread(first, middle, last, value)
        if spread is not None:
            kept[middle.index] = replace(middle, inputs=(first.inputs[0], *middle.inputs[1:]), outputs=last.outputs)
            found[middle.index] = spread
            del kept[first.index], kept[last.index]
    return tuple(kept.values()), found


def _only_reader(
    operator: TfliteOperator, kind: str, readers: Mapping[int, Sequence[TfliteOperator]], outputs: Sequence[int]
) -> TfliteOperator | None:
    """Who alone reads the only result of an operator of this kind as its data."""
    if kind and operator.type != kind or len(operator.outputs) != 1 or operator.outputs[0] in outputs:
        return None
    found = readers.get(operator.outputs[0], [])
    return found[0] if len(found) == 1 and found[0].inputs.index(operator.outputs[0]) == 0 else None


def _spread(first: TfliteOperator, middle: TfliteOperator, last: TfliteOperator, value: Callable[[int], Value]) -> Spread | None:
    if middle.type not in _CONVOLUTIONS or last.type != "BATCH_TO_SPACE_ND":
        return None
    if len(first.inputs) != 3 or len(last.inputs) != 3 or len(last.outputs) != 1 or min(*first.inputs, *last.inputs) < 0:
        return None
    piece = pieces()[middle.type]
    options = middle.options(piece.options_kind, piece.options)
    if any(options[name] != wanted for name, wanted in _PLAIN.items()):
        return None
    for one in (first, last):
        given, made = value(one.inputs[0]), value(one.outputs[0])
        if given.rank != 4 or given.quantization != made.quantization:
            return None
    blocks, pads, other, crops = (value(one.inputs[place]).data for one in (first, last) for place in (1, 2))
    if any(array is None or array.dtype.kind not in "iu" for array in (blocks, pads, other, crops)):
        return None
    if blocks.shape != (2,) or pads.shape != (2, 2) or crops.shape != (2, 2) or blocks.tolist() != other.tolist():
        return None
    sides = (pads.astype(int) - crops.astype(int)).T.tolist()
    if min(*sides[0], *sides[1]) < 0 or min(crops.min(), blocks.min() - 1) < 0:
        return None
    return Spread(tuple(blocks.tolist()), tuple(sides[0]), tuple(sides[1]))
