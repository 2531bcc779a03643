# SPDX-License-Identifier: MIT
"""float32 maxima and means over windows, and over the whole map, channels last."""

from __future__ import annotations

import math
from collections.abc import Mapping

from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.pool_float32 import MAXIMA, MEANS, PoolFloat32
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..core.conditions import in_text
from ..core.float32 import FEATURES, NO_OTHER_CLAMP
from .pools_float32_text import SUMS, WORDS, maxima_text, means_text

FLOAT = IOSpec(DType.float32, CHANNELS_LAST)
TOGETHER = {"speed": 25, "balanced": 9, "size": 0}  # taps in the text


SPEC = ImplSpec(FLOAT, features=FEATURES, predicates=(REAL, NO_OTHER_CLAMP))


@kernel(MAXIMA, SPEC)
class MaxPoolFloat32(PoolFloat32):
    """Windows with few taps have all of them in the text; of those that the image's edges cut taps are counted."""

    assembly, source, together = "needed", "windows/pools_float32.h", WORDS

    def functions(self, fields: Mapping[str, int]) -> list[tuple[str, str]]:
        size, channels = (fields["kernel_height"], fields["kernel_width"]), fields["in_channels"]
        has_relu = self.operator.minimum == 0
        others = maxima_text(None, channels, has_relu)
        if math.prod(size) > in_text(TOGETHER, self.view) or channels < WORDS:
            return [others]
        return [maxima_text(size, channels, has_relu), others]


@kernel(MEANS, SPEC)
class AvgPoolFloat32(PoolFloat32):
    assembly, source, together = "needed", "windows/pools_float32.h", SUMS

    def functions(self, fields: Mapping[str, int]) -> list[tuple[str, str]]:
        return [means_text(fields["in_channels"], self.operator.minimum == 0)]
