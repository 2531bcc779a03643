# SPDX-License-Identifier: MIT
"""Rows that the firmware brings, as a layer of a cascade that reads nothing: the layers that read the rows run when the rows are
there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Band, Operator
from aidge_build.plan.cascade.row_layer import ROW_AXIS
from aidge_build.plan.cascade.row_table import Bands, RowTable, cut_at


@dataclass(frozen=True)
class Arrival:
    """The tensor `output` as the layers read it. It has the attributes of a `RowLayer` that a `Walk` uses; no node has its
    name."""

    output: Tensor
    name: ClassVar[str] = ""
    inputs: ClassVar[tuple[Tensor | None, ...]] = ()
    in_parts: ClassVar[bool] = False

    @property
    def height(self) -> int:
        """How many rows come."""
        return self.output.dims[ROW_AXIS]

    def band(self, first: int, last: int) -> Band:
        """Returns the band: any rows can come."""
        return Band(Operator(), ())

    def reads(self, first: int, last: int) -> Mapping[str, tuple[int, int]]:
        """Returns no rows."""
        return {}

    def cut(self, start: int, size: int) -> Bands:
        """Returns the bands: rows can be cut anywhere."""
        return cut_at(self.height, start, size)

    def table(self, bands: Bands) -> RowTable:
        """Returns an empty table."""
        return RowTable({}, ())
