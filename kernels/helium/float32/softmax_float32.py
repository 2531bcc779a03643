# SPDX-License-Identifier: MIT
"""float32 softmax: rows of neighbouring values four values at a time, others four rows at a time."""

from __future__ import annotations

from aidge_build.contract.node import kernel
from aidge_build.kernel_kit.softmax_float32 import SoftmaxFloat32, along_one_axis, over_several_axes

from ..conditions import MVE


@kernel("Softmax", along_one_axis(MVE))
class HeliumSoftmax(SoftmaxFloat32):
    function, source = "aidge_helium_softmax_float32", "float32/softmax.h"
    of_neighbours, of_others = "4 values", "4 rows"


@kernel("Softmax", over_several_axes(MVE))
class HeliumSoftmaxOfRows(HeliumSoftmax):
    """The same call; the spec differs."""
