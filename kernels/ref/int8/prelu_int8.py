# SPDX-License-Identifier: MIT
"""PReLU with a slope for each channel in integers."""

from __future__ import annotations

from aidge_build.contract.call import Call, Literal
from aidge_build.contract.kernel_kit.prelu_int8 import NOTE, PReluNode, prelu_spec
from aidge_build.contract.node import kernel


@kernel("PReLU", prelu_spec())
class PReluInt8(PReluNode):
    def call(self) -> Call:
        arguments = (*self.pointers(), Literal(self.shift), *self.sizes())
        return Call("aidge_ref_prelu_int8", ("int8/prelu_int8.h",), arguments, note=NOTE)
