# SPDX-License-Identifier: MIT
"""int8 convolution over one or two axes, six pixels at a time."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.narrow import conv2d
from aidge_build.contract.node import kernel

from ..core.assembly import CORE
from ..windows.depthwise_layout import ByteLayout


@kernel(("Conv1D", "Conv2D"), conv2d.spec(CORE))
class Conv2dInt8(conv2d.Conv2dInt8):
    core = CORE
    planes = ByteLayout
