# SPDX-License-Identifier: MIT
"""PReLU with a slope for each channel in integers."""

from __future__ import annotations

from aidge_build.contract.call import Call
from aidge_build.contract.kernel_kit.bent_lines import BentLinesInt8, bent_lines_spec
from aidge_build.contract.node import kernel

from .assembly import Code
from .conditions import FEATURES


@kernel("PReLU", bent_lines_spec(FEATURES))
class Armv7MPReluInt8(BentLinesInt8):
    def call(self) -> Call:
        return self.assembled(Code, "armv7m")
