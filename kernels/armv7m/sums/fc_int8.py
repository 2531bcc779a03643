# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from dataclasses import replace

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.window2d import is_pointwise, window2d, window_of_layer
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, NodeView

from ..core.conditions import ENOUGH_PRODUCTS, linear_spec
from .packing import NIBBLE_BITS, form_of, head
from .rows import GROUP, entry, pack_nibbles, pack_numbers, pack_rows, rows_texts

SCRATCH_BYTES = 28 + 4 * GROUP  # of aidge_armv7m_row_block


class RowsInt8(LinearNode):
    """A fully connected layer, of rows or of the windows of an image."""

    def call(self) -> Call:
        linear = self.linear(taps_last_channels(self.inputs[1].data))
        form = replace(form_of(linear), has_nibbles=linear.bits <= NIBBLE_BITS)
        outputs, taps = linear.rows.shape
        window = getattr(self.operator, "window", None)
        is_window = window is not None and not is_pointwise(window_of_layer(self.view))
        name, texts = rows_texts(form, taps, is_window)
        arguments = [
            Input(0),
            Output(0),
            Constant("weights", pack_nibbles(linear.rows) if form.has_nibbles else pack_rows(linear.rows)),
            Constant("numbers", numpy.concatenate([head(linear, form), pack_numbers(form)])),
            Scratch(),
            rows_struct(self.outputs[0].elements // outputs, outputs, taps, 1 if form.has_nibbles else 2),
        ]
        if is_window:
            arguments.append(window2d(self.inputs[0], self.outputs[0], window))
        return Call(
            name,
            ("sums/rows.h", "core/gather.h") if is_window else ("sums/rows.h",),
            tuple(arguments),
            note=form.note,
            texts=texts,
            facts=form.facts(f"1 {'pixel' if window else 'row'} x {GROUP} outputs"),
        )


@kernel("FC", linear_spec(ENOUGH_PRODUCTS, form=ROW_MAJOR))
class FcInt8(RowsInt8):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=SCRATCH_BYTES)


def rows_struct(rows: int, outputs: int, taps: int, tap_words: int = 2) -> Struct:
    """The struct of rows.h; a group has so many words of weights for each tap."""
    first, entered = entry(taps)
    whole = max(1, outputs // GROUP)
    return Struct(
        "aidge_armv7m_rows",
        {
            "rows": rows,
            "taps": taps,
            "outputs": outputs,
            "first_taps": first,
            "entry": entered,
            "whole_weights": tap_words * taps * whole,
            "whole_numbers": 4 + 25 * whole,
            "count": min(GROUP, outputs),
            "rest": outputs % GROUP if outputs > GROUP else 0,
        },
    )
