# SPDX-License-Identifier: MIT
"""A buffer: bytes that must keep their content during a half-open span of schedule steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from aidge_build.errors import AidgeError

BufferKind = Literal["activation", "scratch", "state", "io"]
BUFFER_KINDS: tuple[str, ...] = get_args(BufferKind)


@dataclass(frozen=True)
class Buffer:
    """`size_bytes` at a multiple of `alignment`, live in the steps `[first, last)`."""

    name: str
    size_bytes: int
    alignment: int
    first: int
    last: int
    kind: BufferKind = "activation"

    def __post_init__(self) -> None:
        reason = _fault(self)
        if reason:
            raise AidgeError(reason, where=f"buffer {self.name!r}", code="PLAN03", hint="this is a fault of the caller")

    def meets(self, other: Buffer) -> bool:
        """Whether both are live in some common step."""
        return self.first < other.last and other.first < self.last


def require_distinct_names(buffers: Sequence[Buffer]) -> None:
    """Refuse two buffers of one name, because an offset is asked for by name."""
    seen: set[str] = set()
    for buffer in buffers:
        if buffer.name in seen:
            raise AidgeError("two buffers have this name", where=f"buffer {buffer.name!r}", code="PLAN03",
                             hint="this is a fault of the caller")
        seen.add(buffer.name)


def _fault(buffer: Buffer) -> str:
    numbers = (buffer.size_bytes, buffer.alignment, buffer.first, buffer.last)
    if not isinstance(buffer.name, str) or not buffer.name:
        return "a buffer needs a name"
    if not all(type(number) is int for number in numbers):
        return f"size, alignment and lifetime must be Python integers, not {numbers!r}"
    if buffer.size_bytes <= 0:
        return f"the size is {buffer.size_bytes} B, but must be positive"
    if buffer.alignment <= 0 or buffer.alignment & (buffer.alignment - 1):
        return f"the alignment is {buffer.alignment}, but must be a power of two"
    if not 0 <= buffer.first < buffer.last:
        return f"the lifetime [{buffer.first}, {buffer.last}) is empty or begins before step 0"
    if buffer.kind not in BUFFER_KINDS:
        return f"the kind {buffer.kind!r} is none of {', '.join(BUFFER_KINDS)}"
    return ""
