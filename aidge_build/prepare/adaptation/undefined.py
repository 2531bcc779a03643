# SPDX-License-Identifier: MIT
"""Notices about functions without a value for some numbers of their quantized input, such as the root of a negative number."""

from __future__ import annotations

import numpy

from aidge_build.contract.spec import NodeView
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.requantize import dequantize_linear
from aidge_build.operators.kinds import ElementWise
from aidge_build.prepare.adaptation.assignment import Assignment

LEVELS = numpy.arange(-128, 128, dtype=numpy.int8)


def undefined_notices(assignment: Assignment) -> tuple[str, ...]:
    """Returns one line for each int8 function without a result for some stored values; these give 0.0, as NaN does."""
    notices = []
    for node in assignment.view.nodes:
        count = _undefined(assignment.node_view(node))
        if count:
            notices.append(
                f"{node.where()}: {count} of the {len(LEVELS)} values that its int8 input can hold have no result (NaN) and "
                "give 0.0; another range of the input, or asymmetric quantization, leaves them out"
            )
    return tuple(notices)


def _undefined(seen: NodeView) -> int:
    """Returns how many stored values of a function of one int8 value have no result."""
    source = seen.inputs[0] if seen.inputs else None
    if not isinstance(seen.operator, ElementWise) or source is None or source.dtype is not DType.int8:
        return 0
    if source.quantization is None or not source.quantization.per_tensor or not seen.outputs[0].quantization:
        return 0
    with numpy.errstate(all="ignore"):
        (real,) = seen.operator.evaluated(dequantize_linear(LEVELS, source.quantization))
    return int(numpy.isnan(real).sum())
