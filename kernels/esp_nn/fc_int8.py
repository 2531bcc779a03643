# SPDX-License-Identifier: MIT
"""int8 fully connected layer: ESP-NN rounds it twice, TensorFlow Lite once, so it serves `--rounding any` alone."""

from __future__ import annotations

from aidge_build.contract.call import Call, Struct
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from .linear_int8 import EspLinear, in_assembly, linear_spec

SPEC = linear_spec(form=ROW_MAJOR)


@kernel("FC", [SPEC, in_assembly(SPEC)])
class FcInt8(EspLinear):
    glue = "fc_s8"
    functions = ("esp_nn_fully_connected_per_ch_s8_ansi",)

    def call(self) -> Call:
        outputs, inputs = self.inputs[1].dims
        shape = Struct("aidge_esp_nn_fc", {"batches": self.inputs[0].dims[0], "inputs": inputs, "outputs": outputs})
        return self.linear_call(self.rows, shape)
