# SPDX-License-Identifier: MIT
"""float32 means and maxima over windows, and over the whole map: the channels in the lanes."""

from __future__ import annotations

from aidge_build.contract.call import Argument, Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.pooling import PoolNode
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..conditions import MVE
from .real import clamp_of, limits, wrapper
from .windows import Windows

FLOAT = IOSpec(DType.float32, CHANNELS_LAST)
SPEC = ImplSpec(inputs=(FLOAT,), outputs=(FLOAT,), features=MVE, predicates=(REAL,))


class _Pool(PoolNode):
    is_mean: int

    def ends(self) -> tuple[Argument, Argument]:
        raise NotImplementedError

    def call(self) -> Call:
        shape, prefix = self.shape(), "aidge_helium_"
        is_small = self.view.objective == "size" or self.is_row()
        windows = None if is_small else Windows.of(bool(self.is_mean), shape, clamp_of(self.operator))
        function, text = wrapper(
            f"pool_{windows.name.removeprefix(prefix)}" if windows else f"{('maxpool', 'avgpool')[self.is_mean]}_float32",
            "pool_float32",
            (self.is_mean, windows.name if windows else "NULL"),
            ("const float *input", "float *output", "const float *limits")
            + ("int32_t counted_height", "int32_t counted_width", "const aidge_kit_window2d *shape"),
        )
        arguments = (Input(0), Output(0), limits(self.operator), *self.ends(), shape)
        texts = (windows.text(), text) if windows else (text,)
        return Call(function, ("float32/pool.h",), arguments, texts=texts, facts=computed("16 channels"))


@kernel(("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling"), SPEC)
class AvgPoolFloat32(_Pool):
    is_mean = 1

    def ends(self) -> tuple[Argument, Argument]:
        self.counts()  # refuses windows without a position
        return self.counted_ends()


@kernel(("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling"), SPEC)
class MaxPoolFloat32(_Pool):
    is_mean = 0

    def ends(self) -> tuple[Argument, Argument]:
        return Literal(0), Literal(0)
