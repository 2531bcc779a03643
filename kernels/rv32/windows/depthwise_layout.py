# SPDX-License-Identifier: MIT
"""Depthwise convolutions from planes of bytes, some neighbouring outputs at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Struct
from aidge_build.contract.kernel_kit.narrow.byte_planes import MOST_TILE, Shape, plane, sweep
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.depthwise import Plane
from aidge_build.contract.kernel_kit.narrow.depthwise_layout import Layout
from aidge_build.contract.kernel_kit.narrow.packing import GENERAL_KIND

BYTES = Plane(
    "planes of bytes",
    "windows/depthwise.h",
    "aidge_rv32",
    "int8_t",
    "",
    "input + channel + strip.source, &shape->loads, strip.count",
)
_NOT_READ = "in_columns", "in_column_step", "stride_column"  # fields of the geometry, in C
_MUCH = 1 / 16
MOST_IN_TURN = 25  # taps without a loop
_ROW = 10  # instructions of a row alone, of inputs or of outputs


class ByteLayout(Layout):
    """A plane has the rows of a strip."""

    plane = BYTES
    most_bytes = 512
    most_whole = 2048

    @property
    def plane_columns(self) -> int:
        """Bytes of a row of the plane."""
        axis = self.columns
        return (self.image[f"out_{axis}"] - 1) * self.image[f"stride_{axis}"] + self.extent(axis) + self.depth - 1

    @property
    def plane_bytes(self) -> int:
        """Bytes of the plane, in whole words."""
        return -(-self.plane_rows * self.plane_columns // 4) * 4

    @property
    def has_row_turns(self) -> bool:
        """Whether a loop computes a row of taps in a turn; else it computes an input channel."""
        return self.depth == 1 and self.kernel[0] > 1 and self.taps > MOST_IN_TURN

    @property
    def repeats(self) -> int:
        return self.kernel[0] if self.has_row_turns else self.depth

    @property
    def in_turn(self) -> tuple[int, int]:
        """The taps down and across of a turn."""
        return (1, self.kernel[1]) if self.has_row_turns else self.kernel

    @property
    def scratch_bytes(self) -> int:
        return self.plane_bytes + 4 * self.image[f"out_{self.columns}"] * (not self.is_shared)

    @property
    def shape(self) -> Shape:
        """The shape of the smallest tile, which has the shortest text, that costs not much more than the best one."""
        outputs, stride = self.image[f"out_{self.columns}"], self.image[f"stride_{self.columns}"]
        tiles = range(1, min(outputs, MOST_TILE) + 1)
        shapes = [Shape(self.in_turn, stride, self.dilation, tile, self.repeats) for tile in tiles]
        costs = {each: -(-outputs // each.tile) * each.cost for each in shapes if each.fits}
        return next(each for each, cost in costs.items() if cost <= (1 + _MUCH) * min(costs.values()))

    @property
    def alone(self) -> Shape:
        """The shape of a single output."""
        return Shape(self.in_turn, 1, self.dilation, 1, self.repeats)

    @property
    def tile(self) -> int:
        return self.shape.tile

    @property
    def work(self) -> int:
        tiles = self.strip_rows * -(-self.image[f"out_{self.columns}"] // self.tile)
        return self.plane_rows * (4 * self.plane_columns + _ROW) + self.strip_rows * _ROW + tiles * self.shape.cost

    def turns(self, kinds: numpy.ndarray) -> dict[str, int]:
        batches, outputs = self.image["batches"], self.image[f"out_{self.columns}"]
        rows = batches * self.image[f"out_{self.rows}"]
        strips = batches * -(-self.image[f"out_{self.rows}"] // self.strip_rows) * len(kinds)
        fast = int((kinds == 0).sum())
        alone = self.alone
        return {
            "strips": strips,
            "loads": strips * self.plane_rows * self.plane_columns,
            "load_rows": strips * self.plane_rows,
            "tiles": fast * rows * -(-outputs // self.tile) * self.shape.cost,
            "rows": fast * rows,
            "sums": (len(kinds) - fast) * rows * outputs * alone.cost,
            "sum_rows": (len(kinds) - fast) * rows,
            "general": int((kinds == GENERAL_KIND).sum()) * rows * outputs,
        }

    def text(self, core: Core, is_wide: bool, is_sums: bool) -> tuple[str, str]:
        return sweep(core, self.alone if is_sums else self.shape, is_wide, is_sums)

    def loading(self, core: Core) -> tuple[str, ...]:
        return () if self.is_shared else (plane(core),)

    def struct(self, numbers: int) -> Struct:
        geometry, width = self.geometry, self.plane_columns
        stride, outputs, step = (geometry[name] for name in ("stride_column", "out_columns", "in_column_step"))
        row_step = self.image[f"dilation_{self.rows}"] * width
        in_turn = (self.in_turn[0] - 1) * row_step
        of_turn = row_step if self.has_row_turns else 1 if self.repeats > 1 else in_turn
        loaded = min(geometry["in_columns"], width - geometry["pad_column"])

        def sweep_of(tile: int, out_step: int, out_row: int) -> tuple[int, ...]:
            back = -outputs % tile  # columns that the last tile of a row shares with the one before
            return (
                row_step,
                tile * stride - self.repeats * of_turn,
                out_step,
                out_step * (outputs // tile * tile),
                out_step * outputs,
                -back * stride,
                -back * out_step,
                geometry["stride_row"] * width - outputs * stride,
                out_row - outputs * out_step,
                of_turn - in_turn,
            )

        return Struct(
            "aidge_rv32_depthwise",
            {
                "sweep": sweep_of(self.tile, geometry["out_column_step"], geometry["out_row_step"]),
                "sums": sweep_of(1, 4, 0),
                "loads": (loaded - loaded % 4, loaded % 4, step, geometry["in_row_step"] - loaded * step, width - loaded),
                **{name: value for name, value in geometry.items() if name not in _NOT_READ},
                "row_step": geometry["stride_row"] * width,
                "plane_bytes": self.plane_bytes,
                "numbers": numbers,
            },
        )
