# SPDX-License-Identifier: MIT
"""float32 fully connected layer."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from ..shared.packing import blocked, fc_shape
from .linear_float32 import LinearFloat32, linear_spec


@kernel("FC", linear_spec(ROW_MAJOR))
class FcFloat32(LinearFloat32):
    def call(self) -> Call:
        rows = self.inputs[1].data
        shape = fc_shape(self.inputs[0].dims[0], rows)
        return Call("aidge_ref_fc_float32", ("float32/fc_float32.h",), (*self.arguments(blocked(rows)), shape))
