# SPDX-License-Identifier: MIT
"""The list of a loop that replaces one row in each step: the rows are known one by one, so it costs no copy until an operator
reads the whole list.

1. A tensor that is written as CONCATENATION of the rows before the row, the row, and the rows after it.
2. A TensorList of TensorFlow (type VARIANT), as files have it that were converted with SELECT_TF_OPS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy

from aidge_build.operators.base import require
from aidge_build.operators.rearrange import Concat, Slice
from aidge_build.operators.view import Reshape
from aidge_build.sources.draft import Draft, Result
from aidge_build.sources.formats.tflite.file import Field, TfliteOperator, TfliteSubgraph, TfliteTensor
from aidge_build.sources.formats.tflite.order import file_order
from aidge_build.sources.formats.tflite.values import Value

RESERVE, SET, STACK = (f"CUSTOM FlexTensorList{name}" for name in ("Reserve", "SetItem", "Stack"))
LISTS = frozenset({RESERVE, SET, STACK})
LIST = "VARIANT"  # the type of tensors that are such lists
MOST_ROWS = 100_000
_OPTIONS = {"axis": Field(0, "int32"), "activation": Field(1, "int8")}  # of CONCATENATION


@dataclass(frozen=True)
class Rows:
    """The tensor that holds each row and the row's place in it, None for zeros; all tensors have the file's order of axes."""

    places: tuple[tuple[Value | None, int], ...]

    @classmethod
    def of(cls, value: Value) -> Rows:
        """The rows of a tensor."""
        return cls(tuple((value, row) for row in range(value.dims[0])))

    def whole(self, draft: Draft, like: Value) -> Value:
        """Returns the tensor that the rows make; `like` has the file's facts about it."""
        parts, first = [], 0
        while first < len(self.places):
            value, start = self.places[first]
            count, step = 1, 0 if value is None else 1
            while first + count < len(self.places) and self.places[first + count] == (value, start + count * step):
                count += 1
            zeros = numpy.zeros((count, *like.dims[1:]), like.dtype.numpy)
            parts.append(draft.constant(like.name, zeros) if value is None else _part(draft, value, start, count))
            first += count
        dims = (len(self.places), *like.dims[1:])
        if len(parts) > 1:
            name = draft.free_name(like.name)
            draft.add_node(name, Concat(0), parts, [Result(name, like.dtype, like.quantization)], like.name)
        else:
            (name,) = parts
        data = draft.tensors[name].data
        return replace(like, name=name, dims=dims, order=file_order(len(dims)), data=data)


def _part(draft: Draft, value: Value, start: int, count: int) -> str:
    """Returns consecutive rows of a tensor."""
    if value.is_constant:
        return draft.constant(value.name, value.data[start : start + count], value.quantization)
    if count == value.dims[0]:
        return value.name
    name, rest = draft.free_name(f"{value.name}_rows"), value.dims[1:]
    cut = Slice((start, *(0,) * len(rest)), (count, *rest), (1,) * value.rank)
    draft.add_node(name, cut, [value.name], [Result(name, value.dtype, value.quantization)], value.name)
    return name


def candidates(body: TfliteSubgraph) -> tuple[int, ...]:
    """Returns the inputs of a loop's body that are only cut by SLICE, and that a CONCATENATION gives back."""
    makers = {index: operator for operator in body.operators for index in operator.outputs}
    found = []
    for place, (given, made) in enumerate(zip(body.inputs, body.outputs)):
        readers = [one for one in body.operators if given in one.inputs]
        if body.tensors[given].type == LIST:
            found.append(place)
        cut = bool(readers) and all(one.type == "SLICE" and one.inputs[0] == given for one in readers)
        if cut and made in makers and makers[made].type == "CONCATENATION" and given not in body.outputs:
            found.append(place)
    return tuple(found)


def is_list(tensor: TfliteTensor, operator: TfliteOperator) -> bool:
    """Whether the tensor is a list and the operator may have it."""
    return tensor.type == LIST and operator.type in (*LISTS, "WHILE")


def follow(
    operator: TfliteOperator, tensors: Mapping[int, Value], values: dict[int, Value], rows: dict[int, Rows], draft: Draft
) -> bool:
    """Whether the operator only moves whole rows of lists; if so its output is known now."""
    if operator.type in LISTS:
        _list_operator(operator, tensors, values, rows, draft)
        return True
    if operator.type == "SLICE" and operator.inputs[0] in rows and len(operator.inputs) == 3:
        found = _cut(rows[operator.inputs[0]], *(values.get(index) for index in operator.inputs[1:]))
    elif operator.type == "CONCATENATION" and any(index in rows for index in operator.inputs):
        found = _joined([rows.get(index) or values.get(index) for index in operator.inputs], operator)
    else:
        return False
    if found is not None:
        rows[operator.outputs[0]] = found
    return found is not None


def _list_operator(
    operator: TfliteOperator, tensors: Mapping[int, Value], values: dict[int, Value], rows: dict[int, Rows], draft: Draft
) -> None:
    (made,) = operator.outputs
    if operator.type == RESERVE:
        count = _integer(operator, values, 1)
        require(0 < count <= MOST_ROWS, f"it reserves {count} rows")
        rows[made] = Rows(((None, 0),) * count)
        return
    given = rows.get(operator.inputs[0])
    require(given is not None, "its list has no TensorListReserve before it")
    if operator.type == STACK:
        values[made] = given.whole(draft, tensors[made])
        return
    row, item = _integer(operator, values, 1), values.get(operator.inputs[2])
    require(0 <= row < len(given.places), f"it sets row {row} of {len(given.places)}")
    require(item is not None, "its item has no value")
    rows[made] = Rows((*given.places[:row], (as_row(draft, item), 0), *given.places[row + 1 :]))


def _integer(operator: TfliteOperator, values: Mapping[int, Value], place: int) -> int:
    """The one integer of an input."""
    value = values.get(operator.inputs[place]) if place < len(operator.inputs) else None
    known = value is not None and value.data is not None and value.data.size == 1 and value.data.dtype.kind == "i"
    require(known, f"input {place} must be an integer that is known while converting")
    return int(value.data.item())


def as_row(draft: Draft, value: Value) -> Value:
    """The same elements with an axis of length 1 in front."""
    dims, order = (1, *value.dims), file_order(value.rank + 1)
    if value.is_constant:
        return replace(value, dims=dims, order=order, data=value.data[None])
    require(value.order == file_order(value.rank), "an image as the row of a list is not supported")
    name = draft.free_name(f"{value.name}_row")
    draft.add_node(name, Reshape(dims), [value.name], [Result(name, value.dtype, value.quantization)], value.name)
    return replace(value, name=name, dims=dims, order=order)


def _cut(given: Rows, begin: Value | None, size: Value | None) -> Rows | None:
    """The rows that SLICE takes; None where it cuts other axes, too, or where that depends on data."""
    if begin is None or size is None or begin.data is None or size.data is None:
        return None
    (first, *others), (count, *sizes) = begin.data.tolist(), size.data.tolist()
    known = given.places[0][0] if given.places else None
    dims = known.dims[1:] if known is not None else ()
    if any(others) or any(one not in (-1, full) for one, full in zip(sizes, dims)) or not 0 <= first <= len(given.places):
        return None
    end = len(given.places) if count == -1 else first + count
    return Rows(given.places[first:end]) if first <= end <= len(given.places) else None


def _joined(parts: list, operator: TfliteOperator) -> Rows | None:
    """Returns lists and tensors joined along the first axis."""
    if any(operator.options(10, _OPTIONS).values()):
        return None
    places: list[tuple[Value | None, int]] = []
    for part in parts:
        if part is None:
            return None
        if isinstance(part, Value) and part.order != file_order(part.rank):
            return None
        places += (part if isinstance(part, Rows) else Rows.of(part)).places
    kinds = {(value.dims[1:], value.dtype, value.quantization) for value, _ in places if value is not None}
    return Rows(tuple(places)) if len(kinds) == 1 else None
