# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Scratch, Struct
from aidge_build.contract.kernel_kit.linear_int8 import LinearNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, NodeView

from .conditions import ENOUGH_PRODUCTS, linear_spec
from .packing import form_of, head
from .rows import GROUP, entry, pack_numbers, pack_rows, rows_texts

SCRATCH_BYTES = 28 + 4 * GROUP  # of aidge_armv7m_row_block


@kernel("FC", linear_spec(ENOUGH_PRODUCTS, form=ROW_MAJOR))
class FcInt8(LinearNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=SCRATCH_BYTES)

    def call(self) -> Call:
        linear = self.linear(self.inputs[1].data)
        form = form_of(linear)
        name, texts = rows_texts(form, linear.rows.shape[1])
        return Call(
            name,
            ("rows.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", pack_rows(linear.rows)),
                Constant("numbers", numpy.concatenate([head(linear, form), pack_numbers(form)])),
                Scratch(),
                rows_struct(self.inputs[0].dims[0], *linear.rows.shape),
            ),
            note=form.note,
            texts=texts,
            facts=form.facts(f"1 row x {GROUP} outputs"),
        )


def rows_struct(rows: int, outputs: int, taps: int) -> Struct:
    """The struct of rows.h."""
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
            "whole_weights": 2 * taps * whole,
            "whole_numbers": 4 + 25 * whole,
            "count": min(GROUP, outputs),
            "rest": outputs % GROUP if outputs > GROUP else 0,
        },
    )
