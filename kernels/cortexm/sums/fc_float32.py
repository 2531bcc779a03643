# SPDX-License-Identifier: MIT
"""float32 fully connected layer, up to 8 outputs at a time, and a convolution of one window, which sees the
whole image."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.kernel_kit.linear_float32 import limits, linear_float_spec
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from ..core.assembly import Routine
from ..core.conditions import WHOLE_IMAGE
from ..core.float32 import FEATURES, CortexmLinearFloat32, Limits, in_turns, listed, values
from .packing import rows_of_image

PARAMETERS = "const float *input, float *output, const int32_t *stream, int32_t features, const int32_t *end, const float *limits"
OUTPUTS = 8  # at a time, where a layer has as many


@kernel("FC", linear_float_spec(FEATURES, form=ROW_MAJOR))
class FcFloat32(CortexmLinearFloat32):
    def call(self) -> Call:
        rows = rows_of_image(self.view)
        outputs, features = rows.shape
        together = min(outputs, OUTPUTS)
        stream = self.stream(rows, together)
        numbers = (self.inputs[0].dims[0], features, outputs, stream.values.size)
        row, text = row_text(self.clamp, together)
        name = row.replace("row_of_", "", 1)
        return Call(
            name,
            ("core/target.h",),
            (Input(0), Output(0), stream, limits(self.operator), *map(Literal, numbers)),
            texts=(text, _layer(name, row, together)),
            facts=computed(f"1 row x {together} outputs"),
        )


@kernel(("Conv1D", "Conv2D"), linear_float_spec(FEATURES, ONE_GROUP, WHOLE_IMAGE))
class WholeImageFloat32(FcFloat32):
    """An image is a row."""


def _layer(name: str, row: str, together: int) -> str:
    """The C function around the assembly."""
    return f"""/* A fully connected layer of float32: {together} outputs at a time. */
static void {name}(
    const float *input, float *output, const int32_t *stream, const float *limits, int32_t rows, int32_t features,
    int32_t outputs, int32_t stream_words)
{{
    for (; rows > 0; rows--) {{
        {row}(input, output, stream, features, stream + stream_words, limits);
        input += features;
        output += outputs;
    }}
}}"""


def row_text(limits: Limits, together: int = OUTPUTS) -> tuple[str, str]:
    """Name and text of one row, so many outputs at a time: 8 at most."""
    name = f"aidge_cortexm_row_of_fc_float32{'' if together == OUTPUTS else f'_{together}'}{limits.suffix}"
    sums, code = values("sum", together), Routine()

    def multiply(count: int) -> None:
        numbers = values("input", count)
        code(f"vldmia %place!, {listed(numbers)}")
        for first in range(0, count, 2):
            pair = numbers[first : first + 2]
            weights = values("weight", together * len(pair))
            code(f"vldmia %stream!, {listed(weights)}", f"weights for {together} outputs")
            for place, weight in enumerate(weights):
                code(f"vfma.f32 {sums[place % together]}, {pair[place // together]}, {weight}")

    code("%enter")
    code("ldr %end, [%argument.4]")
    code.label("group", f"a group of {together} outputs")
    code("ldr %channel, [%stream], #4", "4 * first output")
    code(f"vldmia %stream!, {listed(sums)}", "biases")
    code("mov %place, %input")
    code("mov %count, %features")
    in_turns(code, 4, multiply)
    if limits.compared:
        code("ldr %limits, [%argument.5]")
        limits.load(code, "%limits")
        limits.apply(code, sums)
    code("add %place, %output, %channel")
    limits.store(code, sums, "%place")
    code("cmp %stream, %end")
    code("bne %group")
    code("%leave")
    return name, code.function(name, PARAMETERS, f"A row of inputs x {together} outputs of float32.")
