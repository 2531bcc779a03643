# SPDX-License-Identifier: MIT
"""int8 softmax of rows of neighbours, four values at a time: in float32, and where that does not decide in whole numbers."""

from __future__ import annotations

import dataclasses

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.softmax import softmax_spec
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, NodeView, Predicate

from .conditions import MVE
from .softmax_numbers import softmax_constants
from .softmax_text import LONGEST_IN_REGISTERS, few_rows_text

NAME = "aidge_helium_softmax_int8"
SHORTEST = 12  # of many rows: lanes of rows take fewer instructions for those below
MANY = 4  # rows fill the lanes
FEWEST_UNDER_SIZE = 64  # values that are worth a table of all exponentials


def _short(view: NodeView) -> str:
    length = view.operator.row_length(view.inputs[0].dims)
    rows = view.outputs[0].elements // length
    return f"{rows} rows of {length} values" if rows >= MANY and length < SHORTEST else ""


def _few(view: NodeView) -> str:
    values = view.outputs[0].elements
    is_few = view.objective == "size" and values < FEWEST_UNDER_SIZE
    return f"{values} values, whose exponentials others keep in 864 B less" if is_few else ""


SPEC = softmax_spec(MVE, ROW_MAJOR, 1)


@kernel(
    "Softmax",
    dataclasses.replace(
        SPEC,
        predicates=(
            *SPEC.predicates,
            Predicate(f"rows of at least {SHORTEST} values, or fewer than {MANY}", _short),
            Predicate(f"under --optimize size at least {FEWEST_UNDER_SIZE} values", _few),
        ),
    ),
)
class SoftmaxInt8(KernelNode):
    def call(self) -> Call:
        length = self.operator.row_length(self.inputs[0].dims)
        is_short = length <= LONGEST_IN_REGISTERS
        return Call(
            f"{NAME}_{length}" if is_short else NAME,
            ("softmax_exactly.h",) if is_short else ("softmax_int8.h",),
            (
                Input(0),
                Output(0),
                *softmax_constants(self.view, additions=length if is_short else 0),
                Literal(self.outputs[0].elements // length),
            ),
            "float32, near a tie whole numbers",
            facts=computed("4 values"),
            texts=(few_rows_text(f"{NAME}_{length}", length),) if is_short else (),
        )
