# SPDX-License-Identifier: MIT
"""int8 fully connected layer."""

from __future__ import annotations

from aidge_build.contract.call import Call, Struct
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from .linear_int8 import CmsisLinear, linear_spec


@kernel("FC", linear_spec(ROW_MAJOR))
class FcInt8(CmsisLinear):
    @classmethod
    def scratch_bytes(cls, view) -> int:
        return 4 * view.inputs[1].dims[0]

    def call(self) -> Call:
        outputs, inputs = self.inputs[1].dims
        shape = Struct("aidge_cmsis_nn_fc", {"batches": self.inputs[0].dims[0], "inputs": inputs, "outputs": outputs})
        return self.linear_call("fc_s8", ("arm_fully_connected_per_channel_s8", "arm_vector_sum_s8"), self.inputs[1].data, shape)
