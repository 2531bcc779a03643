# SPDX-License-Identifier: MIT
"""Which of two specs is more specific: the one that accepts a part of what the other accepts. A partial order, by what they say.

`implies` is sound: where it says yes, every node that the first spec accepts is accepted by the second one. Of conditions
that only a name tells apart (predicates) more names imply fewer; two different names imply nothing.
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
    """The things so that none comes behind a less specific one; otherwise by `tie`, whatever the order in which they were
    given."""
    waiting, ordered = sorted(things, key=tie), []
    while waiting:
        first = next(thing for thing in waiting if not any(more_specific(spec_of(rival), spec_of(thing)) for rival in waiting))
        waiting.remove(first)
        ordered.append(first)
    return ordered


def _sides_imply(one: ImplSpec, other: ImplSpec) -> bool:
    """Position by position; the last one of the longer side stands for all further inputs (outputs), too."""
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
    """Fixed types are equal; what one any_n of the other spec ties together is one type in the first spec, too."""
    groups: dict[DType, list[DType]] = {}
    for first, second in pairs:
        if second.dtype.is_wildcard:
            if second.dtype is not DType.any:
                groups.setdefault(second.dtype, []).append(first.dtype)
        elif first.dtype is not second.dtype:
            return False
    return all(len(set(types)) == 1 and types[0] is not DType.any for types in groups.values())


def _order_implies(one: IOSpec, other: IOSpec) -> bool:
    """Of one position: a fixed storage order is the same one, at the rank that both have."""
    if other.format.is_wildcard or one.format is other.format:
        return True
    rank = _rank(one)
    return rank is not None and (fixed := one.format_for(rank)) is not None and fixed == _order(other, rank)


def _shared_orders_imply(pairs: Sequence[tuple[IOSpec, IOSpec]]) -> bool:
    """What one any_n of the other spec ties together has one order in the first spec, too."""
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
