# SPDX-License-Identifier: MIT
"""int8 means over the whole map under both contracts."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, Struct, computed
from aidge_build.contract.kernel_kit.average import AVERAGE_OF_MAP, AverageOfMap
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.kernel_kit.mean_pooling import IN_INTEGERS, UNSCALED, WHOLE_MAP, MeanPool
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType

from ..core.conditions import FEATURES
from .pools import A_WORD_OF_CHANNELS

MEANS = ("AvgPooling1D", "AvgPooling2D", "GlobalAveragePooling")
SPEC = ImplSpec(
    IOSpec(DType.int8, CHANNELS_LAST),
    features=frozenset({"dsp"}),
    predicates=(ALL_QUANTIZED, A_WORD_OF_CHANNELS, WHOLE_MAP, IN_INTEGERS, UNSCALED),
)


def _call(headers: tuple[str, ...], batches: int, numbers: Constant, values: Struct, name: str, texts: tuple[str, ...]) -> Call:
    """Returns the call of a layer, which stores its means by the function aidge_cortexm_store_<name>."""
    function = f"aidge_cortexm_{name}"
    arguments = (Input(0), Output(0), numbers, Literal(batches), values)
    note = "integers, near a tie float32 in onnxruntime's order" if texts else "integers, one product for each quotient"
    offset = "-pixels * AIDGE_KIT_MEAN_INPUT_ZERO(numbers)" if texts else "0"
    return Call(function, headers, arguments, note, texts=(*texts, _layer(name, offset)), facts=computed("4 channels", 1))


@kernel(MEANS, SPEC)
class MeanInt8(MeanPool):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands()

    def call(self) -> Call:
        order, clamped = self.order().name.lower(), "_clamped" if self.clamps() else ""
        headers, name = ("windows/mean_int8.h", f"kit/mean_{order}.h"), f"mean_int8_{order}{clamped}"
        texts = (_undecided(order), _stored(name, order, clamped))
        return _call(headers, self.inputs[0].dims[0], self.numbers_of_map(), self.values(), name, texts)


@kernel(
    MEANS, replace(SPEC, features=FEATURES, predicates=(ALL_QUANTIZED, A_WORD_OF_CHANNELS, *AVERAGE_OF_MAP), rounding="double")
)
class AverageInt8(AverageOfMap):
    def call(self) -> Call:
        numbers, *_ = self.arguments()
        batches, channels = self.inputs[0].dims[:2]
        values = {"rows": 1, "columns": self.count(), "row_step": 0, "column_step": channels}
        return _call(("windows/mean_int8.h",), batches, numbers, Struct("aidge_kit_values", values), "average_int8", ())


def _undecided(order: str) -> str:
    return f"""/* The level of a mean that its sum does not decide. */
AIDGE_KIT_NOINLINE int32_t aidge_cortexm_mean_{order}(const int8_t *first, const aidge_kit_values *values, const int32_t *numbers)
{{
    return aidge_kit_mean_{order}(first, values, values->rows * values->columns, numbers);
}}"""


def _stored(name: str, order: str, clamped: str) -> str:
    stored = "aidge_kit_stored_level(level, numbers)" if clamped else "aidge_cortexm_int8(level + AIDGE_KIT_MEAN_ZERO(numbers))"
    return f"""/* Stores the mean of values whose sum, minus zero points, is given. */
AIDGE_CORTEXM_INLINE void aidge_cortexm_store_{name}(int8_t *output, int32_t sum, const int8_t *first,
    const aidge_kit_values *values, const int32_t *numbers)
{{
    const int64_t product = aidge_kit_multiply_s64(sum, numbers[0]);
    const uint32_t fraction = (uint32_t)product;
    int32_t level = (int32_t)((uint64_t)product >> 32) + (int32_t)(fraction >> 31);
    if (!aidge_kit_is_decided(fraction, numbers)) {{
        level = aidge_cortexm_mean_{order}(first, values, numbers);
    }}
    *output = (int8_t){stored};
}}"""


def _layer(name: str, offset: str) -> str:
    return f"""/* The mean over all pixels, int8, channels last, at least 4 channels. */
static void aidge_cortexm_{name}(const int8_t *input, int8_t *output, const int32_t *numbers, int32_t batches,
    const aidge_kit_values *values)
{{
    const int32_t pixels = values->rows * values->columns;
    const int32_t channels = values->column_step;
    const int32_t offset = {offset};
    for (; batches > 0; batches--) {{
        int32_t channel;
        for (channel = 0; channel < channels; channel += 4) {{
            const int32_t place = channel + 4 <= channels ? channel : channels - 4; /* the last 4 overlap those before */
            const int8_t *first = input + place;
            int8_t *result = output + place;
            int32_t sums[4];
            aidge_cortexm_sums_of_4(first, pixels, channels, sums);
            aidge_cortexm_store_{name}(result, sums[0] + offset, first, values, numbers);
            aidge_cortexm_store_{name}(result + 1, sums[1] + offset, first + 1, values, numbers);
            aidge_cortexm_store_{name}(result + 2, sums[2] + offset, first + 2, values, numbers);
            aidge_cortexm_store_{name}(result + 3, sums[3] + offset, first + 3, values, numbers);
        }}
        input += pixels * channels;
        output += channels;
    }}
}}"""
