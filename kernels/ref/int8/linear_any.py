# SPDX-License-Identifier: MIT
"""Convolutions and fully connected layers of quantized tensors in any storage order: weights with a zero point, 3 axes,
16-bit data."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS, QUANTIZED
from aidge_build.contract.kernel_kit.linear import linear_constants
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.ranges import INT32_LIMIT, largest_accumulators
from aidge_build.operators.arithmetic.requantize import centred

from ..shared.linear_shape import linear_shape

_TYPES = (DType.int8, DType.int16)
_KINDS = [f"{kind}{rank}D" for kind in ("Conv", "ConvDepthWise") for rank in (1, 2, 3)]


def _types(view: NodeView) -> str:
    data, weights, *bias = view.inputs
    if data.dtype not in _TYPES or view.outputs[0].dtype is not data.dtype or weights.dtype not in _TYPES:
        return f"{data.dtype.name} by {weights.dtype.name} to {view.outputs[0].dtype.name}"
    return "" if not bias or bias[0] is None or bias[0].dtype is DType.int32 else f"the bias is {bias[0].dtype.name}"


def _others_take_it(view: NodeView) -> str:
    data, weights = view.inputs[:2]
    if weights.quantization is None or weights.quantization.axis not in (None, 0):
        return "the weights have no quantization, or one along another axis than 0"
    plain = data.dtype is DType.int8 and data.rank < 5 and not any(weights.quantization.zero_points)
    return "the int8 kernels take it" if plain else ""


@kernel(
    ("FC", *_KINDS),
    ImplSpec(
        inputs=(IOSpec(DType.any, SAME), IOSpec(DType.any, ANY), IOSpec(DType.int32, ANY)),
        outputs=(IOSpec(DType.any, SAME),),
        predicates=(
            CONSTANT_PARAMETERS,
            QUANTIZED,
            Predicate("int8 or int16 in, the same type out", _types),
            Predicate("weights with zero points, 3 axes or 16 bits", _others_take_it),
        ),
    ),
)
class LinearAny(KernelNode):
    instructions_per_mac = 19

    def call(self) -> Call:
        (data, weights, *_), (output,) = self.inputs, self.outputs
        rows = centred(weights.data, weights.quantization).reshape(weights.dims[0], -1)
        numbers = linear_constants(self.operator, self.inputs, output, rows, in_int32=False)
        points = numpy.broadcast_to(numpy.array(weights.quantization.zero_points, numpy.int32), (len(rows),))
        wide = bool(
            largest_accumulators(rows, numbers.plain_bias, numbers.input_zero_point, *data.dtype.range).max() >= INT32_LIMIT
        )
        text, function = _text(data.dtype, weights.dtype, wide)
        return Call(
            function,
            ("int8/linear_any.h",),
            (
                Input(0),
                Output(0),
                Constant("weights", weights.data),
                Constant("weight_zero_points", points),
                Constant("bias", numbers.plain_bias.astype(numpy.int32)),
                Constant("multipliers", numbers.multipliers if numbers.per_channel else numbers.multipliers[:1]),
                Constant(
                    "levels", numpy.array([numbers.input_zero_point, numbers.low, numbers.high, numbers.zero_point], numpy.int32)
                ),
                Literal(int(numbers.per_channel)),
                linear_shape(self.operator, data, output),
            ),
            texts=(text,),
        )


def _text(data: DType, weights: DType, wide: bool) -> tuple[str, str]:
    """The loop, and its name; the sum is `wide` where 32 bits do not hold it."""
    total, narrow = ("int64_t", "(int64_t)") if wide else ("int32_t", "")
    function = f"aidge_ref_linear_any_{data.name}_{weights.name}{'_wide' if wide else ''}"
    return (
        f"""/* Sums of (x - zero point) * (w - zero point of the output channel) + bias, requantized. */
static void {function}(const {data.c_type} *input, {data.c_type} *output, const {weights.c_type} *weights,
    const int32_t *zero_points, const int32_t *bias, const float *multipliers, const int32_t *levels, int32_t per_channel,
    const aidge_ref_linear_shape *shape)
{{
    const int32_t taps = shape->kernel[0] * shape->kernel[1] * shape->kernel[2];
    const int32_t places = shape->out[0] * shape->out[1] * shape->out[2];
    const int32_t outputs = shape->groups * shape->out_channels;
    int32_t batch, m, place, tap, c;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (m = 0; m < outputs; m++) {{
            const {data.c_type} *group = input + batch * shape->in_steps[0]
                + m / shape->out_channels * shape->in_channels * shape->in_steps[1];
            const {weights.c_type} *row = weights + m * shape->in_channels * taps;
            for (place = 0; place < places; place++) {{
                int32_t at[3];
                {total} sum = bias[m];
                aidge_ref_split_place(at, place, shape->out);
                for (tap = 0; tap < taps; tap++) {{
                    const int32_t from = aidge_ref_linear_tap(shape, at, tap);
                    for (c = 0; (from >= 0) && (c < shape->in_channels); c++) {{
                        sum += {narrow}(group[from + c * shape->in_steps[1]] - levels[0])
                            * (row[c * taps + tap] - zero_points[m]);
                    }}
                }}
                output[batch * shape->out_steps[0] + m * shape->out_steps[1] + at[0] * shape->out_steps[2]
                       + at[1] * shape->out_steps[3]
                       + at[2] * shape->out_steps[4]] =
                    ({data.c_type})aidge_ref_linear_level((float)sum * multipliers[per_channel != 0 ? m : 0], levels);
            }}
        }}
    }}
}}""",
        function,
    )
