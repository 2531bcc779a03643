# SPDX-License-Identifier: MIT
"""int8 softmax of rows of neighbours."""

from __future__ import annotations

from aidge_build.contract.kernel_kit.softmax import TABLE_PAYS, SoftmaxRows, softmax_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST

from ..core.conditions import FEATURES


@kernel("Softmax", softmax_spec(FEATURES, TABLE_PAYS))
class SoftmaxInt8(SoftmaxRows):
    function = "aidge_armv6m_softmax_int8"


@kernel("Softmax", softmax_spec(FEATURES, TABLE_PAYS, form=CHANNELS_LAST))
class SoftmaxPixelsInt8(SoftmaxInt8):
    """Over the channels of each pixel."""
