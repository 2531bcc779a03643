# SPDX-License-Identifier: MIT
"""float32 softmax over several axes (ONNX before opset 13): on row-major tensors."""

from __future__ import annotations

from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.rows import OVER_SEVERAL_AXES
from .softmax_float32 import SoftmaxFloat32


@kernel(
    "Softmax",
    ImplSpec(
        inputs=(IOSpec(DType.float32, ROW_MAJOR),), outputs=(IOSpec(DType.float32, ROW_MAJOR),), predicates=(OVER_SEVERAL_AXES,)
    ),
)
class SoftmaxRowsFloat32(SoftmaxFloat32):
    """The same call; the shape differs."""
