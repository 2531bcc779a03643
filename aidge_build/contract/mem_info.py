# SPDX-License-Identifier: MIT
"""The memory of an output, as a kernel of the template style sees it. All numbers are bytes, except `length` and `count`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from aidge_build.base.errors import AidgeError
from aidge_build.graph.format import channels_last
from aidge_build.graph.tensor import Tensor


@dataclass(frozen=True)
class MemInfo:
    """One plane in the arena: `count` lines of `length` positions, each of `size` bytes, `stride` bytes apart.

    A tensor that is stored channels-last has one position per pixel; every other tensor is one position. `offset` and
    `cont_offset` count from the start of the arena, or from the start of its part `mem_component_id` if the arena is divided
    among several memories. A plane that wraps around has `wrap_size` bytes from `wrap_offset` on after its first `cont_size`
    bytes; `wrap_size` 0: the plane is contiguous.
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
    mem_component_id: int = 0

    @property
    def extent_bytes(self) -> int:
        """The bytes from the first byte to the end of the last position, without the gap after it."""
        return self.stride * (self.length * self.count - 1) + self.size

    @property
    def gap_bytes(self) -> int:
        """The bytes between the end of a position and the beginning of the next position."""
        return self.stride - self.size

    @classmethod
    def of(cls, given: MemInfo | Mapping[str, int]) -> MemInfo:
        """Returns the plane that a memory manager gives as a dict. With `size` and `offset` alone it is contiguous; unknown keys
        are ignored.

        AidgeError (code PLAN03) for any other type, and for a dict without `size` or `offset`.
        """
        if isinstance(given, MemInfo):
            return given
        if not isinstance(given, Mapping):
            what = f"the memory info of an output is {type(given).__name__}, not a MemInfo or a dict"
            raise AidgeError(what, code="PLAN03", hint='{"size": bytes, "offset": bytes}')
        missing = [name for name in ("size", "offset") if name not in given]
        if missing:
            raise AidgeError(f"the memory info has no {missing[0]!r}", code="PLAN03", tried=sorted(given), hint="add the key")
        size, offset = int(given["size"]), int(given["offset"])
        said = {entry.name: int(given[entry.name]) for entry in fields(cls) if entry.name in given}
        return cls(**{"stride": size, "cont_size": size, "cont_offset": offset, "wrap_offset": offset, **said})

    def in_bytes(self, element_bytes: int, unit_bytes: int) -> MemInfo:
        """Returns the plane in bytes, if this plane counts sizes in elements of the tensor, and offsets in units of
        `unit_bytes`."""
        return replace(
            self,
            size=self.size * element_bytes,
            stride=self.stride * element_bytes,
            cont_size=self.cont_size * element_bytes,
            wrap_size=self.wrap_size * element_bytes,
            offset=self.offset * unit_bytes,
            cont_offset=self.cont_offset * unit_bytes,
            wrap_offset=self.wrap_offset * unit_bytes,
        )

    def moved(self, by_bytes: int, component: int) -> MemInfo:
        """Returns the plane moved by so many bytes, in the part `component` of the arena."""
        return replace(
            self,
            offset=self.offset + by_bytes,
            cont_offset=self.cont_offset + by_bytes,
            wrap_offset=self.wrap_offset + by_bytes,
            mem_component_id=component,
        )


def mem_info_of(tensor: Tensor, offset_bytes: int, stride_bytes: int = 0) -> MemInfo:
    """Returns the plane of a tensor from this byte of the arena on: contiguous, or with positions `stride_bytes` apart."""
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
