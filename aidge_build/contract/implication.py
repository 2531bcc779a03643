# SPDX-License-Identifier: MIT
"""A partial order of specs: a spec is more specific than another if it accepts only a part of the other's nodes.

`implies` is sound: if it returns True, the second spec accepts every node that the first spec accepts. Predicates are compared by
name only: more names imply fewer names; two different names imply nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from aidge_build.contract.spec import ANY, OPEN, DFormat, Extent, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import NAMED_ORDERS, Format

_Thing = TypeVar("_Thing")


def implies(one: ImplSpec, other: ImplSpec) -> bool:
    """Whether everything that `one` accepts is accepted by `other`, too: types, storage orders, dims and all conditions."""
    return (
        one.features >= other.features
        and other.rounding in (one.rounding, "any")
        and set(one.attributes) >= set(other.attributes)
        and {predicate.name for predicate in one.predicates} >= {predicate.name for predicate in other.predicates}
        and _sides_imply(one, other)
    )


def more_specific(one: ImplSpec, other: ImplSpec) -> bool:
    """Whether `one` accepts less than `other`, and nothing beyond it."""
    return implies(one, other) and not implies(other, one)


def most_specific_first(
    things: Iterable[_Thing], spec_of: Callable[[_Thing], ImplSpec], tie: Callable[[_Thing], tuple]
) -> list[_Thing]:
    """Returns the things, each before every less specific one; otherwise sorted by `tie`, whatever their given order."""
    waiting, ordered = sorted(things, key=tie), []
    while waiting:
        first = next(thing for thing in waiting if not any(more_specific(spec_of(rival), spec_of(thing)) for rival in waiting))
        waiting.remove(first)
        ordered.append(first)
    return ordered


def _sides_imply(one: ImplSpec, other: ImplSpec) -> bool:
    """Whether it holds for each input and output; the last spec of the longer side covers all further inputs (outputs), too."""
    pairs = [
        (one_of(index), other_of(index))
        for mine, theirs, one_of, other_of in (
            (one.inputs, other.inputs, one.input_spec, other.input_spec),
            (one.outputs, other.outputs, one.output_spec, other.output_spec),
        )
        for index in range(max(len(mine), len(theirs)))
    ]
    return (
        all(_dims_imply(first, second) and _order_implies(first, second) for first, second in pairs)
        and _types_imply(pairs)
        and _shared_orders_imply(pairs)
    )


def _types_imply(pairs: Sequence[tuple[IOSpec, IOSpec]]) -> bool:
    """Whether fixed types are equal, and inputs and outputs that share an any_n in the other spec share a type in the first
    spec."""
    groups: dict[DType, list[DType]] = {}
    for first, second in pairs:
        if second.dtype.is_wildcard:
            if second.dtype is not DType.any:
                groups.setdefault(second.dtype, []).append(first.dtype)
        elif first.dtype is not second.dtype:
            return False
    return all(len(set(types)) == 1 and types[0] is not DType.any for types in groups.values())


def _order_implies(one: IOSpec, other: IOSpec) -> bool:
    """Whether, at one position, the other spec fixes no storage order or both fix the same one for their common rank."""
    if other.format.is_wildcard or one.format is other.format:
        return True
    rank = _rank(one)
    return rank is not None and (fixed := one.format_for(rank)) is not None and fixed == _order(other, rank)


def _shared_orders_imply(pairs: Sequence[tuple[IOSpec, IOSpec]]) -> bool:
    """Whether inputs and outputs that share an any_n in the other spec share a storage order in the first spec."""
    groups: dict[DFormat, list[DFormat]] = {}
    for first, second in pairs:
        if second.format.is_wildcard and second.format is not ANY:
            groups.setdefault(second.format, []).append(first.format)
    return all(len(set(orders)) == 1 and orders[0] is not ANY for orders in groups.values())


def _order(spec: IOSpec, rank: int) -> Format | None:
    named = spec.format in NAMED_ORDERS
    return spec.format_for(rank) if not named or len(NAMED_ORDERS[spec.format]) == rank else None


def _rank(spec: IOSpec) -> int | None:
    """The rank that a spec wants; None when it takes any."""
    if spec.dims:
        return len(spec.dims)
    return len(NAMED_ORDERS[spec.format]) if spec.format in NAMED_ORDERS else None


def _dims_imply(one: IOSpec, other: IOSpec) -> bool:
    wanted, given = _rank(other), _rank(one)
    if wanted is None:
        return True
    if given != wanted:
        return False
    mine, theirs = ((spec.dims or (Extent(),) * wanted) for spec in (one, other))
    return all(extent_implies(first, second) for first, second in zip(mine, theirs, strict=True))


def extent_implies(one: Extent, other: Extent) -> bool:
    """Whether every size that `one` accepts is one that `other` accepts."""
    step = one.multiple
    low = -(-max(one.low, 0) // step) * step
    if one.high == OPEN:
        return low >= max(other.low, 0) and other.high == OPEN and step % other.multiple == 0
    high = one.high // step * step
    if low > high:
        return True  # it accepts no size
    inside = low >= max(other.low, 0) and (other.high == OPEN or high <= other.high)
    return inside and low % other.multiple == 0 and (low == high or step % other.multiple == 0)
