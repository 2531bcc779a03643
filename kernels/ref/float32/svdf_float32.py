# SPDX-License-Identifier: MIT
"""float32 layers that filter features over time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.svdf import CONSTANT_WEIGHTS, SvdfNode

_MOVED, _WEIGHTS = IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.float32, ANY)


@kernel(
    "Svdf",
    ImplSpec(inputs=(_MOVED, _WEIGHTS, _WEIGHTS, _WEIGHTS, _MOVED), outputs=(_MOVED,), predicates=(REAL, CONSTANT_WEIGHTS)),
)
class SvdfFloat32(SvdfNode):
    instructions_per_mac = 6

    def call(self) -> Call:
        bounds = Constant("bounds", numpy.array([self.operator.minimum, self.operator.maximum], numpy.float32))
        return self.of_filters("aidge_ref_svdf_float32", "float32/svdf_float32.h", bounds, numpy.float32)
