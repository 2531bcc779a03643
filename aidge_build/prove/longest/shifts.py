# SPDX-License-Identifier: MIT
"""Bounds loops that shift a number until one of its bits reaches a position, or until the number is zero, as in divisions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

Exit = Callable[[int, set[int]], tuple[int | None, bool]]


def rounds_by_exits(head: int, body: Collection[int], successors: Mapping[int, Sequence[int]], shifts: Exit) -> int | None:
    """Returns how often a loop leads back to its start at most; None if its blocks (`body`, by address) do not show it.

    `shifts` is asked for a block with an exit, and is told the blocks that run in each iteration. It returns after how many
    shifts the tested numbers no longer change (None if anything but shifts changes them), and whether the exit is then certainly
    taken.

    1. An exit is taken if the result of a shift is zero: at most one iteration for each bit.
    2. All exits test numbers that only shifts change. After one iteration for each bit the tested values no longer change, and
       the loop would never end. The analysis assumes that it ends.
    """
    always = _in_each_round(head, body, successors)
    total: int | None = 0
    for block in body:
        if all(to in body for to in successors[block]):
            continue
        bits, is_certain = shifts(block, always)
        if bits is not None and is_certain:
            return bits
        total = None if bits is None or total is None else total + bits
    return total or None


def _in_each_round(head: int, body: Collection[int], successors: Mapping[int, Sequence[int]]) -> set[int]:
    """Returns the blocks that run in each iteration: the first block, the straight chain of blocks after it, and the block that
    leads back."""
    found, following = set[int](), {head}
    while len(following) == 1 and found.isdisjoint(following):
        found |= following
        (block,) = following
        following = {*successors[block]}
    back = [block for block in body if head in successors[block]]
    return found | set(back if len(back) == 1 else ())
