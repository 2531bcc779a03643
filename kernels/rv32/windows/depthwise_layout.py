# SPDX-License-Identifier: MIT
"""Depthwise convolutions from planes of bytes, some neighbouring outputs at a time."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Struct
from aidge_build.contract.kernel_kit.narrow.core import Core
from aidge_build.contract.kernel_kit.narrow.depthwise import Plane
from aidge_build.contract.kernel_kit.narrow.depthwise_layout import PADS, Layout
from aidge_build.contract.kernel_kit.narrow.packing import GENERAL_KIND

from .depthwise_text import MOST_TILE, Shape, plane, sweep

BYTES = Plane(
    "planes of bytes",
    "windows/depthwise.h",
    "aidge_rv32",
    "int8_t",
    "",
    "input + channel + strip.source, &shape->loads, strip.count",
)
_MUCH = 1 / 16
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
        return (self.image[f"out_{axis}"] - 1) * self.image[f"stride_{axis}"] + self.extent(axis)

    @property
    def plane_bytes(self) -> int:
        """Bytes of the plane, in whole words."""
        return -(-self.plane_rows * self.plane_columns // 4) * 4

    @property
    def scratch_bytes(self) -> int:
        return self.plane_bytes + 4 * self.image[f"out_{self.columns}"]

    @property
    def shape(self) -> Shape:
        """The shape of the smallest tile, which has the shortest text, that costs not much more than the best one."""
        outputs, stride = self.image[f"out_{self.columns}"], self.image[f"stride_{self.columns}"]
        shapes = [Shape(self.kernel, stride, self.dilation, tile) for tile in range(1, min(outputs, MOST_TILE) + 1)]
        costs = {each: -(-outputs // each.tile) * each.cost for each in shapes if each.fits}
        return next(each for each, cost in costs.items() if cost <= (1 + _MUCH) * min(costs.values()))

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
        alone = Shape(self.kernel, 1, self.dilation, 1)
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
        shape = Shape(self.kernel, 1, self.dilation, 1) if is_sums else self.shape
        return sweep(core, shape, is_wide, is_sums)

    def loading(self, core: Core) -> tuple[str, ...]:
        return (plane(core),)

    def struct(self, numbers: int) -> Struct:
        image, rows, columns = self.image, self.rows, self.columns
        channels, width = image["in_channels"], self.plane_columns
        steps = {"width": channels, "height": channels * image["in_width"]}
        out_steps = {"width": channels, "height": channels * image["out_width"]}
        stride, outputs, pad = image[f"stride_{columns}"], image[f"out_{columns}"], image[f"pad_{PADS[columns]}"]
        row_step = image[f"dilation_{rows}"] * width
        loaded = min(image[f"in_{columns}"], width - pad)

        def sweep_of(tile: int, step: int, out_row: int) -> tuple[int, ...]:
            back = -outputs % tile  # columns that the last tile of a row shares with the one before
            return (
                row_step,
                tile * stride - (self.kernel[0] - 1) * row_step,
                step,
                step * (outputs // tile * tile),
                step * outputs,
                -back * stride,
                -back * step,
                image[f"stride_{rows}"] * width - outputs * stride,
                out_row - outputs * step,
            )

        return Struct(
            "aidge_rv32_depthwise",
            {
                "sweep": sweep_of(self.tile, out_steps[columns], out_steps[rows]),
                "sums": sweep_of(1, 4, 0),
                "loads": (loaded - loaded % 4, loaded % 4, steps[columns], steps[rows] - loaded * steps[columns], width - loaded),
                "batches": image["batches"],
                "channels": channels,
                "in_rows": image[f"in_{rows}"],
                "out_rows": image[f"out_{rows}"],
                "out_columns": outputs,
                "in_row_step": steps[rows],
                "out_row_step": out_steps[rows],
                "out_column_step": out_steps[columns],
                "in_image": channels * image["in_width"] * image["in_height"],
                "out_image": channels * math.prod(image[f"out_{axis}"] for axis in PADS),
                "stride_row": image[f"stride_{rows}"],
                "pad_row": image[f"pad_{PADS[rows]}"],
                "pad_column": pad,
                "strip_rows": self.strip_rows,
                "window_rows": self.extent(rows),
                "columns": width,
                "row_step": image[f"stride_{rows}"] * width,
                "plane_bytes": self.plane_bytes,
                "numbers": numbers,
            },
        )
