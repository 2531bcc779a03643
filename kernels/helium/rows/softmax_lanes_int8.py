# SPDX-License-Identifier: MIT
"""int8 softmax along any axis, four rows in the lanes: in float32, and where that does not decide in exact integers."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.conditions import MVE
from .softmax_numbers import softmax_constants

LONGEST = 256  # a row whose sum in float32 still decides nearly all levels
FEWEST_ROWS = 2  # of four lanes: a single row is not worth the text


def _long(view: NodeView) -> str:
    operator = view.operator
    if operator.until_end:
        return "a row runs over several axes"
    length = operator.row_length(view.inputs[0].dims)
    return "" if length <= LONGEST else f"rows of {length} values, at most {LONGEST}"


def _few(view: NodeView) -> str:
    rows = view.outputs[0].elements // view.operator.row_length(view.inputs[0].dims)
    return "" if rows >= FEWEST_ROWS else f"{rows} rows, wants at least {FEWEST_ROWS}"


@kernel(
    "Softmax",
    ImplSpec(
        IOSpec(DType.int8, SAME),
        features=MVE,
        predicates=(
            ALL_QUANTIZED,
            Predicate(f"rows of at most {LONGEST} values along one axis", _long),
            Predicate("rows for more than one lane", _few),
        ),
    ),
)
class SoftmaxLanesInt8(KernelNode):
    def call(self) -> Call:
        length = self.operator.row_length(self.inputs[0].dims)
        return Call(
            "aidge_helium_softmax_lanes",
            ("rows/softmax_lanes_int8.h",),
            (
                Input(0),
                Output(0),
                *softmax_constants(self.view, additions=length),
                self._shape(),
            ),
            "float32, near a tie whole numbers",
            facts=computed("4 rows"),
        )

    def _shape(self) -> Struct:
        (output,) = self.outputs
        dims, place = output.layout.stored_dims, output.storage.position(self.operator.axis % output.rank)
        sizes = math.prod(dims[:place]), dims[place], math.prod(dims[place + 1 :])
        return Struct("aidge_helium_softmax_shape", dict(zip(("outer", "length", "inner"), sizes)))
