# SPDX-License-Identifier: MIT
"""PReLU with a slope for each channel in integers."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.prelu_int8 import PReluNode, prelu_spec
from aidge_build.contract.node import kernel

from .assembly import Routine
from .conditions import FEATURES


@kernel("PReLU", prelu_spec(FEATURES))
class CortexMPReluInt8(PReluNode):
    def call(self) -> Call:
        return self.assembled(Routine, "cortexm")
