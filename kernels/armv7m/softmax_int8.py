# SPDX-License-Identifier: MIT
"""int8 softmax of long rows."""

from __future__ import annotations

from aidge_build.contract.node import kernel
from aidge_build.kernel_kit.softmax import SoftmaxRows, softmax_spec

from .conditions import FEATURES


@kernel("Softmax", softmax_spec(FEATURES))
class SoftmaxInt8(SoftmaxRows):
    assembly = "helps"
    function, source = "aidge_armv7m_softmax_int8", "softmax_int8.h"
