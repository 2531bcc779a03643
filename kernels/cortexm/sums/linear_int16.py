# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of int16 data with int8 weights: two pixels by 4 channels, sums in int32."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit import linear_int16
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear import LinearConstants
from aidge_build.contract.kernel_kit.linear_int16 import GROUP, GROUPS_OF_4, is_pixelwise
from aidge_build.contract.kernel_kit.packing import group_starts
from aidge_build.contract.kernel_kit.window2d import rows_as_image, window2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, Demands, DFormat, ImplSpec, NodeView, Predicate

from .sums_int16 import Levels, Sums

FARTHEST = 4095  # of an immediate offset


def int16_spec(form: DFormat, *further: Predicate) -> ImplSpec:
    """int16 data in and out, symmetric int8 weights, int32 bias."""
    return linear_int16.int16_spec(frozenset({"dsp", "fpu"}), form, GROUPS_OF_4, *further)


class LinearInt16(linear_int16.LinearInt16):
    word, cell = "int32_t", "uint32_t"
    pixels_at_x, pixels_in_columns = "(const uint32_t *)(const void *)x", "columns"
    column = "aidge_cortexm_column_int16(columns + turn, {pixels}, input, y, x, fill, shape);"

    @classmethod
    def reads_in_place(cls, view: NodeView) -> bool:
        """Whether pixels are neighbours as the products read them: pointwise, an even number of channels."""
        channels = view.inputs[1].dims[1]
        return is_pixelwise(view) and channels % 2 == 0 and 2 * channels <= FARTHEST

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        pairs = (view.inputs[1].data[0].size + 1) // 2
        return Demands(scratch_bytes=0 if cls.reads_in_place(view) else 8 * pairs)

    def sums(self, rows: numpy.ndarray, pixels: int, numbers: LinearConstants) -> tuple[str, str]:
        taps = rows.shape[1]
        apart = 2 * taps if type(self).reads_in_place(self.view) else 0
        sums = Sums((taps + 1) // 2, pixels, Levels.of(numbers), apart)
        return sums.name, sums.text()

    def stream(self, rows: numpy.ndarray, numbers: LinearConstants) -> numpy.ndarray:
        return numpy.concatenate([_group(rows, numbers, first) for first in group_starts(len(rows))])


def _group(rows: numpy.ndarray, numbers: LinearConstants, first: int) -> numpy.ndarray:
    """The words that sums_int16.py reads, for the channels from `first` on."""
    block = slice(first, first + GROUP)
    taps = numpy.pad(rows[block], ((0, 0), (0, rows.shape[1] % 2)))
    weights = taps.reshape(2, 2, -1, 2).transpose(2, 0, 3, 1)  # [pair of taps, pair of channels, tap, channel]
    parts = (numbers.bias[block].astype(numpy.int32), numpy.ascontiguousarray(weights).reshape(-1).view(numpy.int32))
    return numpy.concatenate([*parts, numbers.multipliers[block].view(numpy.int32)])


@kernel(("Conv1D", "Conv2D"), int16_spec(CHANNELS_LAST, ONE_GROUP))
class ConvInt16(LinearInt16):
    def call(self) -> Call:
        return self.layer(window2d(self.inputs[0], self.outputs[0], self.operator.window))


@kernel("FC", int16_spec(ROW_MAJOR))
class FcInt16(LinearInt16):
    def call(self) -> Call:
        return self.layer(rows_as_image(self.inputs[0].dims, self.outputs[0].dims))
