# SPDX-License-Identifier: MIT
"""Layers of dynamic quantization: sums of bytes less a zero point of run time, scaled to float32; channels last."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Output, Struct
from aidge_build.contract.kernel_kit.dynamic import REAL_RESULTS, data_arguments
from aidge_build.contract.kernel_kit.packing import taps_last_channels
from aidge_build.contract.kernel_kit.window2d import rows_as_image, window2d
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, CHANNELS_LAST, ROW_MAJOR, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.dynamic import BIAS, DATA, FACTORS, SCALE, WEIGHTS

from ..shared.packing import blocked


def _constants(view: NodeView) -> str:
    computed = [place for place in (WEIGHTS, FACTORS, BIAS) if place < len(view.inputs) and view.inputs[place] is not None]
    wrong = [place for place in computed if not view.inputs[place].is_constant]
    return f"input {wrong[0]} is computed at run time, wants a constant" if wrong else ""


def _axes(view: NodeView) -> str:
    return "" if view.inputs[DATA].rank <= 4 else "more than 2 spatial axes"


def dynamic_spec(form: DFormat, *predicates: Predicate, **more) -> ImplSpec:
    """Bytes to float32; constant weights, factors and bias."""
    sides = {"inputs": (IOSpec(DType.any, form), IOSpec(DType.any, ANY)), "outputs": (IOSpec(DType.float32, form),)}
    conditions = (REAL_RESULTS, Predicate("weights, factors and bias are constant", _constants), *predicates)
    return ImplSpec(**sides, predicates=conditions, rounding="any", **more)


TWO_AXES = Predicate("at most 2 spatial axes", _axes)


class DynamicLayer(KernelNode):
    """The arguments that all of these kernels have."""

    # Instructions of an output and of a tap, measured: on a Cortex-M3, whose outputs are scaled by functions, and an M0+.
    of_output, of_tap, of_narrow_output, of_narrow_tap = 300, 3.5, 520, 7.0

    @classmethod
    def takes_per_mac(cls, view: NodeView, is_narrow: bool) -> float:
        if "fpu" in view.features:
            return cls.instructions_per_mac
        taps = math.prod(view.inputs[WEIGHTS].dims[1:])
        return cls.of_narrow_output / taps + cls.of_narrow_tap if is_narrow else cls.of_output / taps + cls.of_tap

    def numbers(self) -> numpy.ndarray:
        """Factor and bias of each output channel."""
        factors, scale = self.inputs[FACTORS].data, self.inputs[SCALE].data
        factors = scale * factors if self.is_plain else factors
        bias = self.inputs[BIAS].data if len(self.inputs) > BIAS and self.inputs[BIAS] is not None else numpy.zeros_like(factors)
        return numpy.stack([factors, bias], axis=1).astype(numpy.float32)

    @property
    def is_plain(self) -> bool:
        """Whether the scale is known and nothing is clamped: without an FPU each multiplication and comparison is a function."""
        return self.inputs[SCALE].is_constant and self.bounds().tolist() == [-math.inf, math.inf]

    def bounds(self) -> numpy.ndarray:
        return numpy.array([self.operator.minimum, self.operator.maximum], numpy.float32)

    def arguments(self, packed: numpy.ndarray, shape: Struct) -> tuple[Argument, ...]:
        weights = Constant("weights", packed.astype(self.inputs[WEIGHTS].dtype.numpy))
        numbers = Constant("numbers", self.numbers()), Constant("bounds", self.bounds())
        return (*data_arguments(self.inputs), Output(0), weights, *numbers, shape)

    def text(self, kind: str, body: str) -> tuple[str, str]:
        """Name and text of the loop for these types."""
        data, weights = self.inputs[DATA].dtype, self.inputs[WEIGHTS].dtype
        name = f"aidge_ref_dynamic_{kind}_{data.name}_{weights.name}{'_plain' * self.is_plain}"
        text = body.format(name=name, x=data.c_type, w=weights.c_type)
        return name, text.replace("aidge_ref_dynamic_value(", "aidge_ref_known_value(") if self.is_plain else text


_HEAD = """static void {name}(const {x} *input, const {x} *zero_point, const float *scale, float *output,
    const {w} *weights, const float *numbers, const float *bounds, const aidge_kit_window2d *shape)
{{
    const int32_t zero = zero_point[0];
    const float factor = scale[0];
    int32_t batch, y, x, tap_y, tap_x, c, m"""

_TAPS = """            const int32_t top = y * shape->stride_height - shape->pad_top;
            const int32_t first_y = aidge_kit_first_tap(top, shape->dilation_height);
            const int32_t end_y = aidge_kit_end_tap(top, shape->dilation_height, shape->in_height, shape->kernel_height);
            for (x = 0; x < shape->out_width; x++) {{
                const int32_t left = x * shape->stride_width - shape->pad_left;
                const int32_t first_x = aidge_kit_first_tap(left, shape->dilation_width);
                const int32_t end_x = aidge_kit_end_tap(left, shape->dilation_width, shape->in_width, shape->kernel_width);
"""

_CONV = """/* Outputs of a piece; numbers: factor and bias of each. */
AIDGE_KIT_NOINLINE void {name}_piece(const aidge_ref_piece_int8 *piece, float *output, float factor, const float *bounds)
{{
    const {w} *block = (const {w} *)(const void *)piece->weights;
    const float *number = piece->numbers;
    const int32_t zero = piece->zero_point;
    int32_t m, many, row, run;
    for (m = piece->outputs; m > 0; m -= many) {{
        const {x} *from = (const {x} *)piece->source;
        int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
        const {w} *w;
        many = m >= 4 ? 4 : 1;
        w = block + many * piece->first_tap;
        for (row = piece->rows; row > 0; row--) {{
            for (run = piece->runs; run > 0; run--) {{
                const {x} *const end = from + piece->length;
                if (many == 4) {{
                    while (from != end) {{
                        const int32_t value = *from++ - zero;
                        sum0 += value * w[0];
                        sum1 += value * w[1];
                        sum2 += value * w[2];
                        sum3 += value * w[3];
                        w += 4;
                    }}
                }} else {{
                    while (from != end) {{
                        sum0 += (*from++ - zero) * *w++;
                    }}
                }}
                from += piece->run_step - piece->length;
            }}
            from += piece->row_skip;
            w += many * piece->weight_skip;
        }}
        for (run = many; run > 0; run--) {{
            *output++ = aidge_ref_dynamic_value(sum0, number, factor, bounds);
            number += 2;
            sum0 = sum1;
            sum1 = sum2;
            sum2 = sum3;
        }}
        block += many * piece->taps;
    }}
}}

/* Windows of several channels; weights of 4 outputs at a time as [taps][4], those left over as [taps]. */
static void {name}(const {x} *input, const {x} *zero_point, const float *scale, float *output, const {w} *weights,
    const float *numbers, const float *bounds, const aidge_kit_window2d *shape)
{{
    aidge_ref_piece_int8 piece;
    int32_t left;
    aidge_ref_piece_begin(&piece, (const int8_t *)input, shape, 0);
    piece.zero_point = zero_point[0];
    for (left = shape->batches * shape->out_height * shape->out_width * shape->groups; left > 0; left--) {{
        aidge_ref_piece_next(&piece, shape);
        piece.weights = (const int8_t *)(weights + piece.first_output * piece.taps);
        piece.numbers = numbers + 2 * piece.first_output;
        {name}_piece(&piece, output, scale[0], bounds);
        output += piece.outputs;
    }}
}}"""

_DEPTHWISE = (
    "/* Each channel by itself; weights [taps][channels]. */\n"
    + _HEAD
    + """;
    const int32_t channels = shape->in_channels;
    for (batch = 0; batch < shape->batches; batch++) {{
        for (y = 0; y < shape->out_height; y++) {{
"""
    + _TAPS
    + """                for (c = 0; c < channels; c += m) {{
                    const {x} *row = input + ((top + first_y * shape->dilation_height) * shape->in_width + left
                                              + first_x * shape->dilation_width) * channels + c;
                    const {w} *weight_row = weights + (first_y * shape->kernel_width + first_x) * channels + c;
                    int32_t sum0 = 0, sum1 = 0;
                    m = c + 1 < channels ? 2 : 1;
                    for (tap_y = first_y; tap_y < end_y; tap_y++) {{
                        const {x} *from = row;
                        const {w} *w = weight_row;
                        for (tap_x = first_x; tap_x < end_x; tap_x++) {{
                            sum0 += ((int32_t)from[0] - zero) * w[0];
                            sum1 += ((int32_t)from[m - 1] - zero) * w[m - 1];
                            from += shape->dilation_width * channels;
                            w += channels;
                        }}
                        row += shape->dilation_height * shape->in_width * channels;
                        weight_row += shape->kernel_width * channels;
                    }}
                    *output++ = aidge_ref_dynamic_value(sum0, numbers + 2 * c, factor, bounds);
                    if (m == 2) {{
                        *output++ = aidge_ref_dynamic_value(sum1, numbers + 2 * c + 2, factor, bounds);
                    }}
                }}
            }}
        }}
        input += shape->in_height * shape->in_width * channels;
    }}
}}"""
)


@kernel("DynamicConv", dynamic_spec(CHANNELS_LAST, TWO_AXES))
class DynamicConv(DynamicLayer):
    def call(self) -> Call:
        rows, groups = taps_last_channels(self.inputs[WEIGHTS].data), self.operator.groups
        shape = window2d(self.inputs[DATA], self.outputs[0], self.operator.window, groups)
        is_depthwise = groups > 1 and groups == self.inputs[DATA].dims[1] == len(rows)
        name, text = self.text(*(("depthwise", _DEPTHWISE) if is_depthwise else ("conv", _CONV)))
        packed = rows.T.ravel() if is_depthwise else blocked(rows, groups)
        return Call(name, ("any/dynamic_layer.h",), self.arguments(packed, shape), texts=(text,))


@kernel("DynamicFC", dynamic_spec(ROW_MAJOR))
class DynamicFC(DynamicLayer):
    def call(self) -> Call:
        name, text = self.text("conv", _CONV)
        arguments = self.arguments(
            blocked(self.inputs[WEIGHTS].data), rows_as_image(self.inputs[DATA].dims, self.outputs[0].dims)
        )
        return Call(name, ("any/dynamic_layer.h",), arguments, texts=(text,))
