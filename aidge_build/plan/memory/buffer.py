# SPDX-License-Identifier: MIT
"""A buffer: bytes that must keep their content during a half-open span of schedule steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from aidge_build.base.errors import AidgeError

BufferKind = Literal["activation", "scratch", "state", "io", "copy", "canary"]
BUFFER_KINDS: tuple[str, ...] = get_args(BufferKind)


@dataclass(frozen=True)
class Window:
    """In the steps `[first, last)` only the bytes `[low_bytes, high_bytes)` of a buffer are live."""

    first: int
    last: int
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True)
class Buffer:
    """`size_bytes` at a multiple of `alignment`, live in the steps `[first, last)`.

    `windows` follow each other in time and cover the whole life; without any, all bytes are live all the time. They express
    rings, and tensors of different sizes that reuse each other's bytes.
    """

    name: str
    size_bytes: int
    alignment: int
    first: int
    last: int
    kind: BufferKind = "activation"
    windows: tuple[Window, ...] = ()

    def __post_init__(self) -> None:
        reason = _fault(self)
        if reason:
            raise AidgeError(reason, where=f"buffer {self.name!r}", code="PLAN03", hint="this is a fault of the caller")

    def meets(self, other: Buffer) -> bool:
        """Whether both are live in some common step."""
        return self.first < other.last and other.first < self.last

    @property
    def extents(self) -> tuple[Window, ...]:
        """The windows; without any, one window of all bytes."""
        return self.windows or (Window(self.first, self.last, 0, self.size_bytes),)

    def live_bytes(self, step: int) -> tuple[int, int]:
        """Returns (low, high) of the bytes that are live in `step`; (0, 0) if none are."""
        return next(
            ((window.low_bytes, window.high_bytes) for window in self.extents if window.first <= step < window.last), (0, 0)
        )


@dataclass(frozen=True)
class Overlap:
    """The buffer `lower` may overlap `upper` in their only common step if it begins at least `lead_bytes` before `upper`: at this
    distance the kernel that reads `upper` and writes `lower` overwrites no byte that it still reads."""

    lower: str
    upper: str
    lead_bytes: int


def require_distinct_names(buffers: Sequence[Buffer]) -> None:
    """Raises AidgeError for two buffers of one name, because an offset is asked for by name."""
    seen: set[str] = set()
    for buffer in buffers:
        if buffer.name in seen:
            raise AidgeError(
                "two buffers have this name", where=f"buffer {buffer.name!r}", code="PLAN03", hint="this is a fault of the caller"
            )
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
    return _window_fault(buffer) if buffer.windows else ""


def _window_fault(buffer: Buffer) -> str:
    reached = buffer.first
    for window in buffer.windows:
        if window.first != reached or window.last <= window.first:
            return f"the windows leave a gap at step {reached}, or overlap there"
        if not 0 <= window.low_bytes < window.high_bytes <= buffer.size_bytes:
            return f"the window [{window.low_bytes}, {window.high_bytes}) is no part of {buffer.size_bytes} B"
        reached = window.last
    return "" if reached == buffer.last else f"the windows end at step {reached}, the life at {buffer.last}"
