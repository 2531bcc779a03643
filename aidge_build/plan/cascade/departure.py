# SPDX-License-Identifier: MIT
"""Rows that the firmware takes, as a layer of a cascade that writes nothing: the next step runs when the rows are gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from aidge_build.graph.tensor import Tensor
from aidge_build.operators.base import Band, Operator
from aidge_build.plan.cascade.row_layer import RowLayer
from aidge_build.plan.cascade.row_table import Bands, RowTable, cut_at


@dataclass(frozen=True)
class Departure:
    """The rows that `writer` computes, as they come. It has the attributes of a `RowLayer` that a `Walk` uses; no node has its
    name."""

    writer: RowLayer
    name: ClassVar[str] = "\0"
    in_parts: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[Tensor]:
        """The tensor that leaves."""
        return (self.writer.output,)

    @property
    def output(self) -> Tensor:
        """Nothing: a tensor without a name."""
        return Tensor("", (), self.writer.output.dtype)

    @property
    def height(self) -> int:
        """How many rows leave."""
        return self.writer.height

    def band(self, first: int, last: int) -> Band:
        """Returns the band: any rows can leave."""
        return Band(Operator(), ((first, last),))

    def reads(self, first: int, last: int) -> Mapping[str, tuple[int, int]]:
        """Returns the rows themselves."""
        return {self.writer.output.name: (first, last)}

    def cut(self, start: int, size: int) -> Bands:
        """Returns the bands: rows can be cut anywhere."""
        return cut_at(self.height, start, size)

    def table(self, bands: Bands) -> RowTable:
        """Returns the table of the rows themselves."""
        return RowTable.of(self, bands)
