# SPDX-License-Identifier: MIT
"""Constants that are copied into the arena before a layer reads them: buffers as others, live from the start of the copying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.plan.memory.buffer import Buffer


@dataclass(frozen=True)
class CopiedArray:
    """The constant behind an argument of the call (`position`): `size_bytes` from byte `offset_bytes` of the buffer on."""

    position: int
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True)
class ConstantCopy:
    """The constants of layer `node`, which runs in `step`: their copying begins before step `first` does, and they are read in
    `step` alone. `saved` is what that is estimated to save, in costs of access."""

    node: str
    first: int
    step: int
    arrays: tuple[CopiedArray, ...]
    alignment: int
    saved: int = 0

    @property
    def name(self) -> str:
        """Of the buffer."""
        return f"constants of {self.node}"

    @property
    def size_bytes(self) -> int:
        """Of all arrays, to the end of the last one's line of the cache."""
        last = self.arrays[-1]
        return -(-(last.offset_bytes + last.size_bytes) // self.alignment) * self.alignment

    @property
    def buffer(self) -> Buffer:
        """What the planner places."""
        return Buffer(self.name, self.size_bytes, self.alignment, self.first, self.step + 1, "copy")


def arrays_in_line(sizes: Sequence[tuple[int, int]], alignment: int) -> tuple[CopiedArray, ...]:
    """(position, bytes) of each argument one behind the other, each at a multiple of `alignment`."""
    found, reached = list[CopiedArray](), 0
    for position, size_bytes in sizes:
        found.append(CopiedArray(position, reached, size_bytes))
        reached += -(-size_bytes // alignment) * alignment
    return tuple(found)
