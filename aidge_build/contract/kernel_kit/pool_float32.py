# SPDX-License-Identifier: MIT
"""float32 means and maxima over windows, and over the whole map, channels last: the layer around functions for neighbouring
windows (kit/pool_float32.h)."""

from __future__ import annotations

from collections.abc import Mapping

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.linear_float32 import limits
from aidge_build.contract.kernel_kit.pooling import PoolNode

PARAMETERS = "float *output, const float *source, const aidge_kit_seen_float32 *seen, int32_t pixels"
MAXIMA = ("MaxPooling1D", "MaxPooling2D", "GlobalMaxPooling")
MEANS = ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling")


class PoolFloat32(PoolNode):
    """A pool for which a library prints functions for neighbouring windows; `source` is the header that these need."""

    source: str
    together: int  # channels

    @property
    def is_mean(self) -> bool:
        """Whether it is a mean and not a maximum."""
        return self.node.type in MEANS

    def functions(self, fields: Mapping[str, int]) -> list[tuple[str, str]]:
        """Returns names and texts of the functions for whole windows and, last, for any others; `fields`: of the window."""
        raise NotImplementedError

    def call(self) -> Call:
        ends = Literal(0), Literal(0)
        if self.is_mean:
            self.counts()  # refuses windows without a position
            ends = self.counted_ends()
        shape = self.shape()
        functions = self.functions(shape.fields)
        whole, others = functions[0][0], functions[-1][0]
        name = whole + f"_or_{others.split('_', 2)[2]}" * (others != whole) + "_layer"  # without the prefix of the library
        return Call(
            name,
            (self.source,),
            (Input(0), Output(0), limits(self.operator), *ends, shape),
            texts=(*(text for _, text in functions), _LAYER.format(name=name, whole=whole, others=others)),
            facts=computed(f"{min(self.together, shape.fields['in_channels'])} channels"),
        )


_LAYER = """\
/* Windows of float32, channels last. */
static void {name}(
    const float *input, float *output, const float *limits, int32_t counted_height, int32_t counted_width,
    const aidge_kit_window2d *shape)
{{
    aidge_kit_pool_float32({whole}, {others}, input, output, limits, counted_height, counted_width, shape);
}}"""
