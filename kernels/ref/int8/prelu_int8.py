# SPDX-License-Identifier: MIT
"""PReLU with a slope for each channel in integers."""

from __future__ import annotations

from aidge_build.contract.call import Call, Literal
from aidge_build.contract.kernel_kit.channel_lines import NOTE, PReluInt8, prelu_spec
from aidge_build.contract.node import kernel


@kernel("PReLU", prelu_spec())
class RefPReluInt8(PReluInt8):
    def call(self) -> Call:
        arguments = (*self.pointers(), Literal(self.shifts[0]), *self.sizes(), Literal(self.zero))
        return Call("aidge_ref_prelu_int8", ("int8/prelu_int8.h",), arguments, note=NOTE)
