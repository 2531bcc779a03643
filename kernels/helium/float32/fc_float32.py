# SPDX-License-Identifier: MIT
"""float32 fully connected layer: one row of inputs and 16 outputs at a time, several rows as the pixels of a convolution."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.linear_float32 import LinearFloat32, limits, linear_float_spec
from aidge_build.contract.kernel_kit.window2d import rows_as_image
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from ..core.conditions import MVE
from .conv2d_float32 import conv2d_call
from .real import is_limited
from .strip import SLACK, WIDE, Strip, stream_of


@kernel("FC", linear_float_spec(MVE, form=ROW_MAJOR))
class FcFloat32(LinearFloat32):
    def call(self) -> Call:
        rows, bias, batches = self.inputs[1].data.astype(numpy.float32), self.bias(), self.inputs[0].dims[0]
        outputs, features = rows.shape
        if batches > 1:
            return conv2d_call(self.view, rows_as_image((batches, features), (batches, outputs)), rows, bias)
        strip = Strip.of(1, outputs, False, is_limited(self.operator), WIDE)
        name = f"aidge_helium_fc_float32_{strip.suffix}"
        return Call(
            name,
            ("float32/strip.h",),
            (
                Input(0),
                Output(0),
                Constant("stream", numpy.concatenate([stream_of(rows, bias, WIDE), SLACK])),
                limits(self.operator),
                Literal(features),
                Literal(outputs),
            ),
            texts=(strip.text(), _row(name, strip)),
            facts=computed(f"1 row x {min(WIDE, outputs)} outputs"),
        )


def _row(name: str, strip: Strip) -> str:
    return f"""/* A row of inputs of float32. */
static void {name}(
    const float *x, float *y, const float *stream, const float *limits, int32_t features, int32_t outputs)
{{
    aidge_helium_strip_float32 strip;
    aidge_helium_row_strip_float32(&strip, x, limits, features, outputs);
    {strip.name}(&strip, y, stream);
}}"""
