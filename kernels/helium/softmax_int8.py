# SPDX-License-Identifier: MIT
"""int8 softmax of long rows, four values at a time."""

from __future__ import annotations

from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR
from aidge_build.kernel_kit.softmax import SoftmaxRows, softmax_spec

from .conditions import MVE

SHORTEST = 16  # lanes of rows take fewer instructions for those below


@kernel("Softmax", softmax_spec(MVE, ROW_MAJOR, SHORTEST))
class SoftmaxInt8(SoftmaxRows):
    function, source, block = "aidge_helium_softmax_int8", "softmax_int8.h", "4 values"
