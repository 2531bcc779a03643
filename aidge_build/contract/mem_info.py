# SPDX-License-Identifier: MIT
"""Where an output lies, as a kernel of the template style sees it. All numbers are bytes, but `length` and `count`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from aidge_build.errors import AidgeError
from aidge_build.graph.format import channels_last
from aidge_build.graph.tensor import Tensor


@dataclass(frozen=True)
class MemInfo:
    """One plane in the arena: `count` lines of `length` positions, each of `size` bytes, `stride` bytes apart.

    A tensor that is stored channels-last has one position per pixel; every other tensor is one position. `offset` and
    `cont_offset` count from the start of the arena. A plane that wraps around has `wrap_size` bytes from `wrap_offset` on
    after its first `cont_size` bytes; `wrap_size` 0 means that it lies in one piece.
    """

    size: int
    offset: int
    stride: int
    length: int = 1
    count: int = 1
    cont_size: int = 0
    cont_offset: int = 0
    wrap_offset: int = 0
    wrap_size: int = 0

    @property
    def extent_bytes(self) -> int:
        """From the first byte to the end of the last position (the gap behind it belongs to somebody else)."""
        return self.stride * (self.length * self.count - 1) + self.size

    @property
    def gap_bytes(self) -> int:
        """Between the end of a position and the beginning of the next one."""
        return self.stride - self.size

    @classmethod
    def of(cls, given: MemInfo | Mapping[str, int]) -> MemInfo:
        """A memory manager may say it as a dict; further keys of it are ignored."""
        if isinstance(given, MemInfo):
            return given
        missing = [name for name in ("size", "offset", "stride") if name not in given]
        if missing:
            raise AidgeError(f"the memory info has no {missing[0]!r}", code="PLAN03", tried=sorted(given))
        return cls(**{entry.name: int(given[entry.name]) for entry in fields(cls) if entry.name in given})


def mem_info_of(tensor: Tensor, offset_bytes: int, stride_bytes: int = 0) -> MemInfo:
    """The plane of a tensor from this byte of the arena on: in one piece, or with its positions `stride_bytes` apart."""
    pixels = tensor.rank > 2 and tensor.storage == channels_last(tensor.rank)
    total = tensor.size_bytes
    if not pixels and not stride_bytes:
        return MemInfo(total, offset_bytes, total, 1, 1, total, offset_bytes, offset_bytes)
    inner = tensor.layout.stored_dims[-1]
    width = tensor.layout.stored_dims[-2]
    size = inner * tensor.dtype.size_bytes
    stride = stride_bytes or size
    count = math.prod(tensor.dims) // max(1, inner * width)
    extent = stride * (width * count - 1) + size if stride_bytes else total
    return MemInfo(size, offset_bytes, stride, width, count, extent, offset_bytes, offset_bytes)
