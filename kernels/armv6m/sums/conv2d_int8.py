# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes, six pixels at a time."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import conv2d
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView

from ..core.assembly import CORE
from ..core.costs import dense_per_mac


@kernel(("Conv1D", "Conv2D"), conv2d.spec(CORE))
class Conv2dInt8(conv2d.Conv2dInt8):
    core = CORE

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        return dense_per_mac(view)
