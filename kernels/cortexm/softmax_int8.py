# SPDX-License-Identifier: MIT
"""int8 softmax of rows of neighbours."""

from __future__ import annotations

import math
from dataclasses import replace

from aidge_build.contract.call import Call, computed
from aidge_build.contract.kernel_kit.softmax import SoftmaxRows, softmax_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import CHANNELS_LAST

from .conditions import FEATURES
from .softmax_rows import NAME, levels_text, sum_text

QUADS = f"{NAME}_quads_int8"
WORTH = 256  # values for which --optimize balanced spends 400 bytes of code


@kernel("Softmax", softmax_spec(FEATURES))
class SoftmaxInt8(SoftmaxRows):
    function, source = f"{NAME}_int8", "softmax_int8.h"
    factored = (f"{NAME}_factored_int8", "softmax_factored_int8.h")

    def call(self) -> Call:
        found = super().call()
        many = {"speed": 1, "balanced": WORTH, "size": math.inf}[self.view.objective]
        if self.outputs[0].elements < many:
            return found
        texts = sum_text(), levels_text(), _ROWS
        return replace(found, function=QUADS, sources=("softmax_quads_int8.h",), texts=texts, facts=computed("4 values"))


@kernel("Softmax", softmax_spec(FEATURES, CHANNELS_LAST))
class SoftmaxPixelsInt8(SoftmaxInt8):
    """Over the channels of each pixel."""


_ROWS = f"""/* Softmax of rows of 4 neighbouring int8 values or more: kit/softmax_rows.h says of what numbers. */
static void {QUADS}(const int8_t *input, int8_t *output, const uint32_t *exponentials, const uint64_t *quotient,
    const int32_t *zero_point, int32_t rows, int32_t length)
{{
    {NAME}_quads row;
    row.zero = *zero_point;
    for (; rows > 0; rows--) {{
        uint64_t sum;
        const int32_t largest = {NAME}_sum(input, exponentials, &sum, length);
        const aidge_kit_row_quotient by = aidge_kit_row_quotient_of(aidge_kit_multiply(sum, quotient[1]), (int32_t)quotient[0]);
        if (by.shift > 31) {{ /* every level is 0 */
            (void)memset(output, row.zero, (size_t)length);
        }} else {{
            int32_t left = length;
            int32_t place;
            row.last = exponentials + (255 - largest);
            row.factor = by.factor;
            row.start = by.half + AIDGE_KIT_SOFTMAX_BAND;
            row.mask = (2u * by.half - 1u) & ~(2u * AIDGE_KIT_SOFTMAX_BAND - 1u);
            row.shift = by.shift;
            while (left > 0) {{
                place = length - left;
                left = {NAME}_levels(input + place, output + place, left, &row);
                place = length - left;
                left = left > 4 ? left - 4 : 0;
                for (; place < length - left; place++) {{
                    const uint32_t level = aidge_kit_row_level(row.last[input[place]], &by, row.factor, by.half, row.shift);
                    const int32_t stored = (int32_t)level + row.zero;
                    output[place] = (int8_t)(stored > 127 ? 127 : stored);
                }}
            }}
        }}
        input += length;
        output += length;
    }}
}}"""
