# SPDX-License-Identifier: MIT
"""int8 fully connected layers of several rows: pixels of a pointwise convolution, two at a time."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, NodeView, Predicate

from ..core.conditions import Loop, has_fpu, linear_spec, wants_short
from .dense_node import DenseNode
from .fc_int8 import LONG_ROW, FcInt8, fc_call, fc_demands, has_tables
from .offset_weights import sum_taps
from .packing import pack, quads, rows_of_image
from .pointwise_int8 import pairs_call, pairs_demands
from .sparse import is_sparse_row
from .weights import WIDE

LEAST_ODD = 9  # rows of which computing the last but one twice costs less than two at a time gain


def _features(view: NodeView) -> int:
    return view.inputs[0].elements // view.inputs[0].dims[0]


def _rows(view: NodeView) -> str:
    rows = view.inputs[0].dims[0]
    if wants_short(view) or not has_fpu(view):
        return "--optimize size, or no FPU"
    return "" if rows > 1 and (rows % 2 == 0 or rows >= LEAST_ODD) else f"{rows} rows"


def _quads(view: NodeView) -> str:
    features = _features(view)
    return (
        "" if features % 4 == 0 and features < LONG_ROW else f"{features} inputs of a row, wants a multiple of 4 below {LONG_ROW}"
    )


ROWS = Predicate(f"several rows, an even number or at least {LEAST_ODD}, not --optimize size", _rows)
QUADS = Predicate(f"rows of a multiple of 4 inputs, fewer than {LONG_ROW}", _quads)


@kernel("FC", linear_spec(ROWS, QUADS, form=ROW_MAJOR))
class FcRowsInt8(DenseNode):
    unroll = Loop(44, {"speed": 80, "balanced": 8, "size": 0})  # over pairs of inputs

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        if has_tables(view, view.inputs[0].dims[0]):
            return fc_demands(view, view.inputs[0].dims[0])
        sums = sum_taps(view, _features(view))
        return pairs_demands(view, view.inputs[0].dims[0], _features(view), view.inputs[1].dims[0], sums)

    def call(self) -> Call:
        """Row by row where two weights do not fit a halfword and would take twice the flash, or few blocks have weights."""
        rows, features = self.inputs[0].dims[0], _features(self.view)
        if has_tables(self.view, rows):
            return fc_call(self, rows, FcInt8.unroll.steps(self.view))
        order = quads(features) + sum_taps(self.view, features)
        stream = pack(self.linear(rows_of_image(self.view)), order, has_fpu=True)
        if is_sparse_row(self.view) or (stream.weights is WIDE and self.view.objective != "speed"):
            return fc_call(self, rows, FcInt8.unroll.steps(self.view))
        return pairs_call(stream, rows, features, self.inputs[1].dims[0], self.unroll.steps(self.view))
