# SPDX-License-Identifier: MIT
"""The struct that keeps the position of an inference between two steps. It is RAM of its own, like a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.plan.cascade.cascade import Cascade

COUNTER_BYTES = 2  # of the number of the next layer, and of the next step of its cascade
CURSOR_BYTES = 4


def struct_bytes(fields: Sequence[int]) -> int:
    """Returns the bytes of a struct by the rules that all C compilers for these targets follow; `fields` are the bytes of its
    fields, the widest first."""
    return -(-sum(fields) // max(fields)) * max(fields)


@dataclass(frozen=True)
class Waiting:
    """The fields of the struct are `pointers` to inputs and outputs, `cursors` into whole tensors, which cascades share because
    one runs at a time, then the number of the next layer from 1 (0: no inference has begun) and the number of its next step."""

    pointers: int
    cursors: int

    @staticmethod
    def of(cascades: tuple[Cascade, ...], pointers: int) -> Waiting:
        """Returns the struct; `pointers` is the number of inputs and outputs that the firmware names when it begins."""
        return Waiting(pointers, max((len(cascade.walked) for cascade in cascades), default=0))

    def alignment(self, pointer_bytes: int) -> int:
        """Returns the alignment of the struct in bytes, on a target with pointers of `pointer_bytes`."""
        return max(self._fields(pointer_bytes))

    def size_bytes(self, pointer_bytes: int) -> int:
        """Returns the bytes of the struct."""
        return struct_bytes(self._fields(pointer_bytes))

    def _fields(self, pointer_bytes: int) -> list[int]:
        return [pointer_bytes] * self.pointers + [CURSOR_BYTES] * self.cursors + [COUNTER_BYTES, COUNTER_BYTES]
