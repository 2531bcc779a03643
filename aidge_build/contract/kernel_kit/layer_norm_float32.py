# SPDX-License-Identifier: MIT
"""float32 LayerNormalization and RMSNormalization: three passes over each row, for which a library prints functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Struct, computed
from aidge_build.contract.kernel_kit.float_layers import NormalizedRows
from aidge_build.contract.kernel_kit.float_steps import FPU, FloatUnit
from aidge_build.contract.kernel_kit.linear_float32 import parameter
from aidge_build.contract.node import KernelNode

OPERATORS = ("LayerNormalization", "RMSNormalization")
PARAMETERS = "const float *row, float *statistics, int32_t count"
SCALED_PARAMETERS = (
    "const float *row, float *output, const float *statistics, int32_t count, const float *scale, const float *bias"
)


class LayerNormFloat32(KernelNode):
    """A layer of `prefix`_sum and `prefix`_squares, which write statistics[1]: the sum of a row, and the sum of the squares of
    what its values differ from statistics[0] by; and of `prefix`_scaled, or _scaled_alone without a bias."""

    prefix: str
    source: str  # a header, which includes kit/layer_norm_float32.h
    together: int  # values
    unit: FloatUnit = FPU
    lanes: int = 1  # of the sums

    def texts(self, has_bias: bool) -> Sequence[str]:
        """Returns the C texts of the three functions."""
        raise NotImplementedError

    def call(self) -> Call:
        dims, axis = self.inputs[0].dims, self.operator.axis
        has_bias = len(self.inputs) > 2 and self.inputs[2] is not None
        with_mean = int(self.node.type == "LayerNormalization")
        numbers = {"rows": math.prod(dims[:axis]), "length": math.prod(dims[axis:]), "with_mean": with_mean}
        name = f"{self.prefix}{'' if has_bias else '_alone'}_float32"
        return Call(
            name,
            (self.source,),
            (
                Input(0),
                parameter(self, 1, "scale"),
                parameter(self, 2, "bias") if has_bias else Literal(0),
                Output(0),
                Constant("epsilon", numpy.array([self.operator.epsilon], numpy.float32)),
                Struct("aidge_kit_normalized_rows", numbers),
            ),
            texts=(*self.texts(has_bias), _LAYER.format(name=name, scaled=scaled_name(self.prefix, has_bias), base=self.prefix)),
            facts=computed(f"{self.together} values"),
            steps=NormalizedRows(self.unit, axis, self.operator.epsilon, bool(with_mean), self.lanes, self.lanes == 1),
        )


def scaled_name(prefix: str, has_bias: bool) -> str:
    """Returns the name of the function that writes a row."""
    return f"{prefix}_scaled{'' if has_bias else '_alone'}"


_LAYER = """/* Row by row. */
static void {name}(const float *input, const float *scale, const float *bias, float *output, const float *epsilon,
    const aidge_kit_normalized_rows *shape)
{{
    float statistics[2];
    int32_t row;
    for (row = 0; row < shape->rows; row++) {{
        statistics[0] = 0.0f;
        if (shape->with_mean != 0) {{
            {base}_sum(input, statistics, shape->length);
            statistics[0] = statistics[1] / (float)shape->length;
        }}
        {base}_squares(input, statistics, shape->length);
        statistics[1] = 1.0f / sqrtf(statistics[1] / (float)shape->length + *epsilon);
        {scaled}(input, output, statistics, shape->length, scale, bias);
        input += shape->length;
        output += shape->length;
    }}
}}"""
