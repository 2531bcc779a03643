# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of int16 data with int8 weights: two pixels by 4 channels, sums in int32."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Struct
from aidge_build.contract.kernel_kit import linear_int16
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear import LinearConstants
from aidge_build.contract.kernel_kit.linear_int16 import GROUPS_OF_4, is_pixelwise
from aidge_build.contract.kernel_kit.window2d import rows_as_image, window2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, Demands, DFormat, ImplSpec, NodeView, Predicate

from ..core.conditions import MVE
from .sums_int16 import Levels, Sums, stream_of

OFFSETS = 1 << 16  # of a gathering load


def _too_far(view: NodeView) -> str:
    return "" if is_pixelwise(view) or _offsets(_window(view)).max() < OFFSETS else "a window spans more than 16 bits address"


def int16_spec(form: DFormat, *further: Predicate) -> ImplSpec:
    """int16 data in and out, symmetric int8 weights, int32 bias."""
    return linear_int16.int16_spec(MVE, form, *further)


class LinearInt16(linear_int16.LinearInt16):
    word, cell = "int8_t", "int16_t"
    pixels_at_x, pixels_in_columns = "x, x + shape->in_channels", "columns, columns + taps"
    column = "aidge_helium_column_int16(columns + turn * taps, input, offsets, y, x, fill, shape);"
    offsets = "const uint16_t *offsets, "

    @classmethod
    def reads_in_place(cls, view: NodeView) -> bool:
        return is_pixelwise(view)

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=0 if is_pixelwise(view) else 4 * view.inputs[1].data[0].size)

    def sums(self, rows: numpy.ndarray, pixels: int, numbers: LinearConstants) -> tuple[str, str]:
        sums = Sums(rows.shape[1], pixels, Levels.of(numbers))
        return sums.name, sums.text()

    def stream(self, rows: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        return stream_of(rows, numbers)


def _window(view: NodeView) -> Struct:
    return window2d(view.inputs[0], view.outputs[0], view.operator.window)


def _offsets(shape: Struct) -> numpy.ndarray:
    """How many values the taps of a window lie behind the first one."""
    fields = shape.fields
    rows, columns = (numpy.arange(fields[f"kernel_{axis}"]) * fields[f"dilation_{axis}"] for axis in ("height", "width"))
    places = rows[:, None] * fields["in_width"] + columns
    return (places[..., None] * fields["in_channels"] + numpy.arange(fields["in_channels"])).reshape(-1)


@kernel(
    ("Conv1D", "Conv2D"),
    int16_spec(CHANNELS_LAST, ONE_GROUP, GROUPS_OF_4, Predicate("offsets of a window that 16 bits hold", _too_far)),
)
class ConvInt16(LinearInt16):
    def call(self) -> Call:
        shape = _window(self.view)
        return self.layer(shape, (Constant("offsets", _offsets(shape).astype(numpy.uint16)),))


@kernel("FC", int16_spec(ROW_MAJOR, GROUPS_OF_4))
class FcInt16(LinearInt16):
    def call(self) -> Call:
        return self.layer(rows_as_image(self.inputs[0].dims, self.outputs[0].dims))
