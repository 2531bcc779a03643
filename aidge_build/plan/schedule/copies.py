# SPDX-License-Identifier: MIT
"""Constants that are copied into the arena, or expanded there from packed words, before a layer reads them. A copy is a buffer
like any other, live from the start of the copying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aidge_build.graph.dtype import DType
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.packed_words import Packed


@dataclass(frozen=True)
class CopiedArray:
    """The constant of an argument of the call (`position`): `size_bytes` from byte `offset_bytes` of the buffer on; elements of
    `dtype`, if flash holds `packed` words of it."""

    position: int
    offset_bytes: int
    size_bytes: int
    packed: Packed | None = None
    dtype: DType | None = None


@dataclass(frozen=True)
class ConstantCopy:
    """The constants of layer `node`, which runs in `step`. Their copying begins before step `first`, and only `step` reads them.
    `saved` is the estimated saving, in access costs; the bytes of flash if the constants are packed."""

    node: str
    first: int
    step: int
    arrays: tuple[CopiedArray, ...]
    alignment: int
    saved: int = 0

    @property
    def is_packed(self) -> bool:
        """Whether its arrays are packed in flash: all are, or none is."""
        return self.arrays[0].packed is not None

    @property
    def name(self) -> str:
        """The name of the buffer."""
        return f"constants of {self.node}"

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays, rounded up to `alignment`."""
        last = self.arrays[-1]
        return -(-(last.offset_bytes + last.size_bytes) // self.alignment) * self.alignment

    @property
    def buffer(self) -> Buffer:
        """The buffer for the planner."""
        return Buffer(self.name, self.size_bytes, self.alignment, self.first, self.step + 1, "copy")


def arrays_in_line(sizes: Sequence[tuple[int, int]], alignment: int) -> tuple[CopiedArray, ...]:
    """Returns the constants of (position, bytes) one after the other, each at a multiple of `alignment`."""
    found, reached = list[CopiedArray](), 0
    for position, size_bytes in sizes:
        found.append(CopiedArray(position, reached, size_bytes))
        reached += -(-size_bytes // alignment) * alignment
    return tuple(found)


def packed_in_line(packings: Sequence[tuple[int, DType, Packed]], alignment: int) -> tuple[CopiedArray, ...]:
    """Returns the arrays of (position, type of elements, packed words), expanded one after the other."""
    sizes = [(position, packed.size_bytes) for position, _, packed in packings]
    return tuple(
        replace(array, packed=packed, dtype=dtype)
        for array, (_, dtype, packed) in zip(arrays_in_line(sizes, alignment), packings, strict=True)
    )
