# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from aidge_build.backend.spec import ROW_MAJOR
from aidge_build.export.call import Call, Struct
from aidge_build.export.node import kernel

from .linear_int8 import LinearInt8, linear_spec
from .packing import blocked


@kernel("FC", linear_spec(ROW_MAJOR))
class FcInt8(LinearInt8):
    def call(self) -> Call:
        rows = self.inputs[1].data
        shape = Struct("aidge_ref_fc_shape", {"batches": self.inputs[0].dims[0], "in_features": rows.shape[1],
                                              "out_features": rows.shape[0]})
        return Call("aidge_ref_fc_int8", ("fc_int8.h",), (*self.arguments(rows, blocked(rows)), shape))
