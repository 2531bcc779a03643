# SPDX-License-Identifier: MIT
"""int8 means of windows that lie inside the image."""

from __future__ import annotations

import numpy

from aidge_build.backend.spec import NodeView, Predicate
from aidge_build.export.call import Call, Constant, Input, Output, computed
from aidge_build.export.node import ExportNode, kernel

from .pooling import pool_geometry, pool_levels, pool_spec, pool_struct
from .sums import proved_mean


def _sees_pads(view: NodeView) -> str:
    return "" if pool_geometry(view).stays_inside else "windows see pads"


def _multiplier(view: NodeView) -> float | None:
    shape, data, result = pool_geometry(view), view.inputs[0].quantization, view.outputs[0].quantization
    return proved_mean((data.scale, result.scale), (data.zero_point, result.zero_point), shape.kernel_height * shape.kernel_width,
                       *pool_levels(view))


def _unproved(view: NodeView) -> str:
    return "" if _multiplier(view) is not None else "no float32 multiplier is proved for every sum"


INSIDE = Predicate("windows inside the image", _sees_pads)
PROVED = Predicate("the mean in float32 is proved for every sum", _unproved)


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), pool_spec(INSIDE, PROVED))
class AvgPool2dInt8(ExportNode):
    def call(self) -> Call:
        shape, data, result = pool_geometry(self.view), self.inputs[0].quantization, self.outputs[0].quantization
        low, high = pool_levels(self.view)
        count = shape.kernel_height * shape.kernel_width
        levels = [-count * data.zero_point, low - result.zero_point, high - result.zero_point, result.zero_point]
        arguments = (Input(0), Output(0), Constant("levels", numpy.array(levels, numpy.int32)),
                     Constant("multiplier", numpy.array([_multiplier(self.view)], numpy.float32)), pool_struct(shape))
        return Call("aidge_helium_avgpool2d", ("avgpool2d.h",), arguments, "float32 proved equal for every possible sum",
                    facts=computed("16 channels", 0))
