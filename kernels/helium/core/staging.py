# SPDX-License-Identifier: MIT
"""Copies of the input's rows with their pads in scratch, so that every window is complete."""

from __future__ import annotations

from dataclasses import dataclass

from aidge_build.contract.call import Struct

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
        """The beginning of the function that uses the copies: `rows`, filled with the zero point, and `staged`; bands are given
        theirs."""
        return [*self._struct("staged", self.struct(self.geometry)), *self._rows(zero_point)]

    def ring_lines(self, zero_point: str) -> list[str]:
        """The same with `ring` and its `state`, for rows of which each is copied once."""
        return [
            *self._struct("ring", self.ring_struct(self.geometry)),
            "aidge_helium_ring_state state;",
            *self._rows(zero_point),
            f"state.zero_point = {zero_point};",
        ]

    def struct(self, image: Geometry) -> Struct:
        """The rows of an image or a band."""
        shape = self.geometry
        return Struct(
            "aidge_helium_rows_shape",
            {
                "rows": shape.kernel_height,
                "row_bytes": self.row_bytes,
                "in_height": image.in_height,
                "in_row_bytes": shape.in_width * shape.channels,
                "dilation": shape.dilation_height,
                "left": min(shape.left, shape.reached_width) * shape.channels,
                "copied": self.copied,
            },
        )

    def ring_struct(self, image: Geometry) -> Struct:
        """The same in a ring."""
        shape = self.geometry
        return Struct(
            "aidge_helium_ring_shape",
            {
                "rows": shape.kernel_height,
                "stride": shape.stride_height,
                "pad": image.top,
                "row_bytes": self.row_bytes,
                "in_height": image.in_height,
                "in_row_bytes": shape.in_width * shape.channels,
                "left": min(shape.left, shape.reached_width) * shape.channels,
                "copied": self.copied,
            },
        )

    def _struct(self, name: str, struct: Struct) -> list[str]:
        fields = ", ".join(map(str, struct.fields.values()))
        return [] if self.geometry.bands else [f"static const {struct.type} {name} = {{{fields}}};"]

    def _rows(self, zero_point: str) -> list[str]:
        return ["int8_t *const rows = (int8_t *)scratch;", f"aidge_helium_fill(rows, {zero_point}, {self.bytes});"]
