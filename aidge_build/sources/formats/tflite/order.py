# SPDX-License-Identifier: MIT
"""In which order the axes of each tensor are counted: as the file writes them, or with the channels in front.

TensorFlow Lite writes images as [N, H, W, C]. Convolutions and pools see them as [N, C, H, W], stored in the file's order
(channels last). An operator that works on each element, or along an axis that it names, takes the order of its neighbours, so
that a network between two convolutions has one order; a few operators (RESHAPE) are about the file's order and get it by a view.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from aidge_build.graph.format import Format

Order = tuple[int, ...]  # at each logical place the axis of the file


class Wants(enum.Enum):
    """The order that an operator needs for the tensors that it reads and writes."""

    FILE = "the order of the file"
    CHANNELS = "channels in front"
    SAME = "one order for all of one rank, whichever it is"
    ANY = "each its own"


def file_order(rank: int) -> Order:
    """The axes as the file has them."""
    return tuple(range(rank))


def channels_first(rank: int) -> Order:
    """Returns batch, channels, spatial axes; below rank 4 the order of the file."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 3 else file_order(rank)


def stored_as_in_file(order: Order) -> Format:
    """Returns the format that keeps the elements of a tensor with this logical order in the file's order."""
    return Format(tuple(order.index(axis) for axis in range(len(order))))


def moves_long_axes(dims: Sequence[int], first: Order, second: Order) -> bool:
    """Whether the second order has the axes longer than 1 in another sequence than the first; `dims` are in the first order."""
    long = [axis for axis, size in zip(first, dims) if size != 1]
    return long != [axis for axis in second if axis in long]


class Orders:
    """Tensors that must have one order are joined; a group has channels in front when one of its readers or writers wants it."""

    def __init__(self, ranks: Sequence[int]):
        self._ranks = ranks
        self._parent = list(range(len(ranks)))
        self._channels: set[int] = set()

    def add(self, wants: Wants, tensors: Iterable[int]) -> None:
        """Adds the order that one operator needs for the computed tensors that it touches."""
        images = [index for index in tensors if self._ranks[index] > 3]
        if wants is Wants.CHANNELS:
            self._channels.update(images)
        if wants is Wants.SAME:
            first: dict[int, int] = {}
            for index in images:
                known = first.setdefault(self._ranks[index], index)
                self._parent[self._root(index)] = self._root(known)

    def solved(self) -> list[Order]:
        """The order of each tensor."""
        roots = {self._root(index) for index in self._channels}
        return [
            channels_first(rank) if self._root(index) in roots else file_order(rank) for index, rank in enumerate(self._ranks)
        ]

    def _root(self, index: int) -> int:
        while self._parent[index] != index:
            self._parent[index] = self._parent[self._parent[index]]
            index = self._parent[index]
        return index
