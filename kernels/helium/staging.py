# SPDX-License-Identifier: MIT
"""Copies of the input's rows with their pads in scratch, so that every window is complete."""

from __future__ import annotations

from dataclasses import dataclass

from .geometry import Geometry

MANY_BYTES = 64  # of a row, which are copied four vectors at a time
SLACK = 16  # bytes behind the rows: whole vectors are read


@dataclass(frozen=True)
class Staging:
    """The rows that one row of the output sees."""

    geometry: Geometry
    row_bytes: int

    @classmethod
    def of(cls, shape: Geometry) -> Staging:
        return cls(shape, -(-shape.reached_width * shape.channels // 4) * 4)

    @property
    def copied(self) -> int:
        """Bytes of a row of the input."""
        left = min(self.geometry.left, self.geometry.reached_width)
        return min(self.geometry.in_width, self.geometry.reached_width - left) * self.geometry.channels

    @property
    def copies(self) -> str:
        """The C function that fills the copies; its text is in a header of this name, without what stands before it."""
        return "wide_rows" if self.copied >= MANY_BYTES else "rows"

    @property
    def bytes(self) -> int:
        return self.geometry.kernel_height * self.row_bytes + SLACK

    def lines(self, zero_point: str) -> list[str]:
        """The beginning of the function that uses the copies: `rows`, filled with the zero point, and `staged`."""
        shape = self.geometry
        left = min(shape.left, shape.reached_width)
        fields = (
            shape.kernel_height,
            self.row_bytes,
            shape.in_height,
            shape.in_width * shape.channels,
            shape.dilation_height,
            left * shape.channels,
            self.copied,
        )
        return [
            f"static const aidge_helium_rows_shape staged = {{{', '.join(map(str, fields))}}};",
            "int8_t *const rows = (int8_t *)scratch;",
            f"aidge_helium_fill(rows, {zero_point}, {self.bytes});",
        ]

    def ring_lines(self, zero_point: str) -> list[str]:
        """The same with `ring` and its `state`, for rows of which each is copied once."""
        shape = self.geometry
        fields = (
            shape.kernel_height,
            shape.stride_height,
            shape.top,
            self.row_bytes,
            shape.in_height,
            shape.in_width * shape.channels,
            min(shape.left, shape.reached_width) * shape.channels,
            self.copied,
        )
        return [
            f"static const aidge_helium_ring_shape ring = {{{', '.join(map(str, fields))}}};",
            "aidge_helium_ring_state state;",
            "int8_t *const rows = (int8_t *)scratch;",
            f"aidge_helium_fill(rows, {zero_point}, {self.bytes});",
            f"state.zero_point = {zero_point};",
        ]
