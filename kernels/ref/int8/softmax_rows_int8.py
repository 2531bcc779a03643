# SPDX-License-Identifier: MIT
"""int8 softmax over several axes (ONNX before opset 13): on row-major tensors."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.rows import OVER_SEVERAL_AXES
from .softmax_int8 import SoftmaxInt8


@kernel(
    "Softmax",
    ImplSpec(
        inputs=(IOSpec(DType.int8, ROW_MAJOR),),
        outputs=(IOSpec(DType.int8, ROW_MAJOR),),
        predicates=(ALL_QUANTIZED, OVER_SEVERAL_AXES),
    ),
)
class SoftmaxRowsInt8(SoftmaxInt8):
    """The same call; the shape differs."""
