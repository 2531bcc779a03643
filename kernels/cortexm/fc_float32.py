# SPDX-License-Identifier: MIT
"""float32 fully connected layer, up to 8 outputs at a time, and a convolution of one window, which sees the
whole image."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import ONE_GROUP
from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ROW_MAJOR

from .assembly import Routine
from .conditions import WHOLE_IMAGE
from .float32 import SAVED_BYTES, Limits, LinearFloat32, float_spec, span
from .packing import rows_of_image

PARAMETERS = "const float *input, float *output, const int32_t *stream, int32_t features, const int32_t *end, const float *limits"
OUTPUTS = 8  # at a time, where a layer has as many


@kernel("FC", float_spec(form=ROW_MAJOR))
class FcFloat32(LinearFloat32):
    assembly = "needed"

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
            ("fc_float32.h",),
            (Input(0), Output(0), stream, self.limits(), *map(Literal, numbers)),
            texts=(text, _layer(name, row, together)),
            facts=computed(f"1 row x {together} outputs"),
        )


@kernel(("Conv1D", "Conv2D"), float_spec(ONE_GROUP, WHOLE_IMAGE))
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
    sums = range(24, 24 + together)
    code = Routine({})
    code("push {{r4-r11, lr}}")
    code("vpush {{s16-s31}}")
    code(f"ldr r12, [sp, #{SAVED_BYTES}]", "end")
    code(f"ldr r11, [sp, #{SAVED_BYTES + 4}]", "limits")
    code.label(1, f"a group of {together} outputs")
    code("ldr r10, [r2], #4", "4 * first output")
    code(f"vldmia r2!, {span(sums[0], together)}", "biases")
    code("mov r4, r0")
    code("subs r5, r3, #4")
    code("blo 4f")
    code.label(3, "4 inputs")
    code("vldmia r4!, {{s0-s3}}")
    for pair in range(2):
        code(f"vldmia r2!, {span(4, 2 * together)}", f"weights of 2 inputs for {together} outputs")
        for value in range(2):
            for output, register in enumerate(sums):
                code(f"vfma.f32 s{register}, s{2 * pair + value}, s{4 + together * value + output}")
    code("subs r5, r5, #4")
    code("bhs 3b")
    code.label(4)
    code("adds r5, r5, #4")
    code("beq 6f")
    code.label(5, "the inputs left over")
    code("vldmia r4!, {{s0}}")
    code(f"vldmia r2!, {span(4, together)}")
    for output, register in enumerate(sums):
        code(f"vfma.f32 s{register}, s0, s{4 + output}")
    code("subs r5, r5, #1")
    code("bne 5b")
    code.label(6)
    limits.load(code, "r11")
    limits.apply(code, sums)
    code("add r4, r1, r10")
    limits.store(code, sums, "r4", ("r6", "r7"))
    code("cmp r2, r12")
    code("bne 1b")
    code("vpop {{s16-s31}}")
    code("pop {{r4-r11, pc}}")
    return name, code.function(
        name,
        PARAMETERS,
        f"A row of inputs x {together} outputs of float32.",
        f"aidge_cortexm_row_of_fc_float32_c(input, output, stream, features, end, limits, {together});",
    )
