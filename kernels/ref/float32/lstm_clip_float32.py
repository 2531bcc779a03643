# SPDX-License-Identifier: MIT
"""float32 LSTM whose states are inputs and outputs, and whose cell has a bound."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.kernel_kit.conditions import REAL

from ..shared.lstm import CELL, HIDDEN, LstmNode


def _computed_weights(view: NodeView) -> str:
    computed = any(tensor is None or not tensor.is_constant for tensor in view.inputs[1:HIDDEN])
    return "weights or bias are computed at run time" if computed else ""


_MOVED, _WEIGHTS = IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.float32, ANY)


@kernel(
    "StoredLstm",
    ImplSpec(
        inputs=(_MOVED, _WEIGHTS, _WEIGHTS, _WEIGHTS, _MOVED, _MOVED),
        outputs=(_MOVED,),
        predicates=(REAL, Predicate("constant weights and bias", _computed_weights)),
    ),
)
class LstmClipFloat32(LstmNode):
    instructions_per_mac = 6

    def call(self) -> Call:
        _, weights, recurrence, bias, *_ = self.inputs
        return Call(
            "aidge_ref_lstm_clip_float32",
            ("float32/lstm_clip_float32.h",),
            (
                Input(0),
                Input(HIDDEN),
                Input(CELL),
                Output(0),
                Output(1),
                Constant("weights", weights.data),
                Constant("recurrence", recurrence.data),
                Constant("bias", bias.data),
                Constant("clip", numpy.array([self.operator.clip], numpy.float32)),
                self.shape(),
            ),
        )
