# SPDX-License-Identifier: MIT
"""Sequences and optional values: which tensor is meant is known while importing, so nothing of them is left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.operators.base import require
from aidge_build.sources.formats.onnx.expansion import Draft, expands

MOST_PARTS = 10_000  # of a sequence


@expands("SequenceConstruct")
def construct(draft: Draft) -> Sequence[str]:
    """A sequence of these tensors, in order."""
    for name in draft.source.input_names:
        draft.tensor(name)
    return (draft.keep(tuple(draft.source.input_names)),)


@expands("SequenceEmpty")
def empty(draft: Draft) -> Sequence[str]:
    """A sequence without tensors."""
    return (draft.keep(()),)


@expands("SequenceAt")
def at(draft: Draft) -> Sequence[str]:
    """One member."""
    items = draft.items(draft.input(0))
    return (items[_place(draft, 1, len(items))],)


@expands("SequenceInsert")
def insert(draft: Draft) -> Sequence[str]:
    """The sequence with one more member, before a place or at the end."""
    items = list(draft.items(draft.input(0)))
    draft.tensor(draft.input(1))
    items.insert(_place(draft, 2, len(items), 1) if draft.input(2) else len(items), draft.input(1))
    return (draft.keep(tuple(items)),)


@expands("SequenceErase")
def erase(draft: Draft) -> Sequence[str]:
    """The sequence without one member, by default the last."""
    items = list(draft.items(draft.input(0)))
    require(bool(items), "the sequence is empty")
    del items[_place(draft, 1, len(items)) if draft.input(1) else -1]
    return (draft.keep(tuple(items)),)


@expands("SequenceLength")
def length(draft: Draft) -> Sequence[str]:
    """The number of members."""
    return (draft.constant(len(draft.items(draft.input(0))), numpy.int64),)


@expands("SplitToSequence")
def split(draft: Draft) -> Sequence[str]:
    """Parts along an axis: of one size (the last may be smaller), of given sizes, or of one without that axis."""
    source = draft.source
    data = source.input(0)
    axis = source.axis("axis", 0, data.rank)
    keeps = bool(source.integer("keepdims", 1)) or bool(draft.input(1))
    sizes = _sizes(draft, data.dims[axis])
    if len(sizes) == 1:
        names: Sequence[str] = (source.input_names[0],)
    else:
        given = draft.constant(sizes, numpy.int64)
        names = draft.emit("Split", source.input_names[0], given, outputs=len(sizes), axis=axis)
    if not keeps:
        axes = draft.constant([axis], numpy.int64)
        names = [draft.one("Squeeze", name, axes) for name in names]
    return (draft.keep(tuple(names)),)


def _sizes(draft: Draft, whole: int) -> list[int]:
    if not draft.input(1):
        return _of_one_size(1, whole)
    what = "the sizes of its parts"
    if draft.tensor(draft.input(1)).rank == 0:
        return _of_one_size(draft.integer(draft.input(1), what), whole)
    sizes = draft.integers(draft.input(1), what)
    require(sum(sizes) == whole and min(sizes, default=0) >= 0, f"parts of {sizes}, the axis has {whole} elements")
    return sizes


def _of_one_size(size: int, whole: int) -> list[int]:
    require(size > 0, f"parts of {size} elements")
    require(whole <= MOST_PARTS * size, f"more than {MOST_PARTS} parts")
    return [min(size, whole - start) for start in range(0, whole, size)]


@expands("ConcatFromSequence")
def concat(draft: Draft) -> Sequence[str]:
    """All members along an axis, or along a new one."""
    source = draft.source
    items = draft.items(draft.input(0))
    require(bool(items), "the sequence is empty")
    new = bool(source.integer("new_axis", 0))
    axis = source.axis("axis", 0, draft.tensor(items[0]).rank + int(new))
    if new:
        axes = draft.constant([axis], numpy.int64)
        items = tuple(draft.one("Unsqueeze", name, axes) for name in items)
    return (draft.one("Concat", *items, axis=axis),)


@expands("SequenceMap")
def sequence_map(draft: Draft) -> Sequence[str]:
    """The body for each member; other inputs are members at the same place, or tensors that every step reads."""
    body, (first, *others) = draft.graph("body"), draft.source.input_names
    results = []
    lengths = {len(draft.items(name)) for name in draft.source.input_names if not draft.is_tensor(name)}
    require(len(lengths) == 1, f"its sequences have {sorted(lengths)} members")
    for step, item in enumerate(draft.items(first)):
        more = [name if draft.is_tensor(name) else draft.items(name)[step] for name in others]
        results.append(draft.run(body, (item, *more), f"step_{step}"))
    return [draft.keep(tuple(result[index] for result in results)) for index in range(len(body.outputs))]


@expands("Optional")
def optional(draft: Draft) -> Sequence[str]:
    """The value itself, or none."""
    return (draft.input(0) or draft.keep(None),)


@expands("OptionalHasElement")
def has_element(draft: Draft) -> Sequence[str]:
    """Whether there is a value."""
    name = draft.input(0)
    return (draft.constant(bool(name) and (draft.is_tensor(name) or draft.value(name) is not None)),)


@expands("OptionalGetElement")
def get_element(draft: Draft) -> Sequence[str]:
    """The value, which must be there."""
    name = draft.input(0)
    require(draft.is_tensor(name) or draft.value(name) is not None, "the optional value is not there")
    return (name,)


def _place(draft: Draft, index: int, count: int, beyond: int = 0) -> int:
    """Returns the place that an input names, counted from the front; `beyond` = 1 also allows the place after the last."""
    place = draft.integer(draft.input(index), "the place")
    require(-count <= place < count + beyond, f"place {place} of a sequence of {count}")
    return place + count if place < 0 else place
