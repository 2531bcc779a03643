# SPDX-License-Identifier: MIT
"""The list of a loop: a tensor of which each step replaces one row, written as CONCATENATION of what is before the row, the row,
and what is behind it. Row by row known, it costs no copy until something reads it as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aidge_build.importers.tflite.draft import Draft, Result
from aidge_build.importers.tflite.order import file_order
from aidge_build.importers.tflite.values import Value
from aidge_build.operators.rearrange import Concat, Slice
from aidge_build.tflite_format import Field, TfliteOperator, TfliteSubgraph

_OPTIONS = {"axis": Field(0, "int32"), "activation": Field(1, "int8")}  # of CONCATENATION


@dataclass(frozen=True)
class Rows:
    """Of each row the tensor that has it and its place there; all tensors have their axes in the order of the file."""

    places: tuple[tuple[Value, int], ...]

    @classmethod
    def of(cls, value: Value) -> Rows:
        """The rows of a tensor."""
        return cls(tuple((value, row) for row in range(value.dims[0])))

    def whole(self, draft: Draft, like: Value) -> Value:
        """The tensor that the rows make; `like` is what the file says about it."""
        parts, first = [], 0
        while first < len(self.places):
            value, start = self.places[first]
            count = 1
            while first + count < len(self.places) and self.places[first + count] == (value, start + count):
                count += 1
            parts.append(_part(draft, value, start, count))
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
    """Consecutive rows of a tensor."""
    if value.is_constant:
        return draft.constant(value.name, value.data[start : start + count], value.quantization)
    if count == value.dims[0]:
        return value.name
    name, rest = draft.free_name(f"{value.name}_rows"), value.dims[1:]
    cut = Slice((start, *(0,) * len(rest)), (count, *rest), (1,) * value.rank)
    draft.add_node(name, cut, [value.name], [Result(name, value.dtype, value.quantization)], value.name)
    return name


def candidates(body: TfliteSubgraph) -> tuple[int, ...]:
    """Which inputs of a loop's body are only cut by SLICE, and come back from a CONCATENATION."""
    makers = {index: operator for operator in body.operators for index in operator.outputs}
    found = []
    for place, (given, made) in enumerate(zip(body.inputs, body.outputs)):
        readers = [one for one in body.operators if given in one.inputs]
        cut = bool(readers) and all(one.type == "SLICE" and one.inputs[0] == given for one in readers)
        if cut and made in makers and makers[made].type == "CONCATENATION" and given not in body.outputs:
            found.append(place)
    return tuple(found)


def follow(operator: TfliteOperator, values: Mapping[int, Value], rows: dict[int, Rows]) -> bool:
    """Whether the operator only moves whole rows of lists; if so its output is one."""
    if operator.type == "SLICE" and operator.inputs[0] in rows and len(operator.inputs) == 3:
        found = _cut(rows[operator.inputs[0]], *(values.get(index) for index in operator.inputs[1:]))
    elif operator.type == "CONCATENATION" and any(index in rows for index in operator.inputs):
        found = _joined([rows.get(index) or values.get(index) for index in operator.inputs], operator)
    else:
        return False
    if found is not None:
        rows[operator.outputs[0]] = found
    return found is not None


def _cut(given: Rows, begin: Value | None, size: Value | None) -> Rows | None:
    """The rows that SLICE takes; None where it cuts other axes, too, or where that depends on data."""
    if begin is None or size is None or begin.data is None or size.data is None:
        return None
    (first, *others), (count, *sizes) = begin.data.tolist(), size.data.tolist()
    dims = given.places[0][0].dims[1:] if given.places else ()
    if any(others) or any(one not in (-1, full) for one, full in zip(sizes, dims)) or not 0 <= first <= len(given.places):
        return None
    end = len(given.places) if count == -1 else first + count
    return Rows(given.places[first:end]) if first <= end <= len(given.places) else None


def _joined(parts: list, operator: TfliteOperator) -> Rows | None:
    """Lists and tensors along the first axis."""
    if any(operator.options(10, _OPTIONS).values()):
        return None
    places: list[tuple[Value, int]] = []
    for part in parts:
        if part is None:
            return None
        if isinstance(part, Value) and part.order != file_order(part.rank):
            return None
        places += (part if isinstance(part, Rows) else Rows.of(part)).places
    kinds = {(value.dims[1:], value.dtype, value.quantization) for value, _ in places}
    return Rows(tuple(places)) if len(kinds) == 1 else None
