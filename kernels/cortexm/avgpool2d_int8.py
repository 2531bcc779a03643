# SPDX-License-Identifier: MIT
"""int8 means of windows, 4 channels in two words of sums."""

from __future__ import annotations

import math

from aidge_build.contract.call import Call, Input, Output, Struct, computed
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import NodeView, Predicate
from aidge_build.kernel_kit.mean_pooling import IN_INTEGERS, PARTIAL, MeanPool

from .conditions import FEATURES
from .pools import pool_spec

MOST_TAPS = 255  # whose sums fit int16


def _sizes(view: NodeView) -> str:
    window = getattr(view.operator, "window", None)
    taps = math.prod(window.kernel if window else view.inputs[0].dims[2:])
    return "" if taps <= MOST_TAPS else f"{taps} taps, wants at most {MOST_TAPS}"


@kernel(
    ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"),
    pool_spec(FEATURES, Predicate(f"at most {MOST_TAPS} taps", _sizes), PARTIAL, IN_INTEGERS),
)
class AvgPool2dInt8(MeanPool):
    def _layer(self) -> Struct:
        """The struct of avgpool2d_int8.h."""
        counts, (height, width) = self.counts(), self.counted_ends()
        fields = {"order": int(self.order()), "kinds": len(counts), "counted_height": height.value, "counted_width": width.value}
        return Struct("aidge_cortexm_means", {"shape": tuple(self.shape().fields.values()), **fields})

    def call(self) -> Call:
        return Call(
            "aidge_cortexm_avgpool2d_int8",
            ("avgpool2d_int8.h",),
            (Input(0), Output(0), self.numbers(), self.kinds(), self._layer()),
            "integers, beside the middle of two levels float32 in onnxruntime's order",
            facts=computed("8 channels"),
        )
