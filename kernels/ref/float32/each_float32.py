# SPDX-License-Identifier: MIT
"""Element-wise operators on float32: stated with their type, so that quantized nodes can be computed by them in float."""

from __future__ import annotations

from aidge_build.contract.node import kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..any.each_any import EachAny
from ..shared.each_expressions import FLOAT_TYPES


@kernel(FLOAT_TYPES, ImplSpec(IOSpec(DType.float32, SAME)))
class EachFloat32(EachAny):
    """The same call."""
