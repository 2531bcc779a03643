# SPDX-License-Identifier: MIT
"""DynamicQuantizeLinear: the range of the data, then their levels, four values at a time.

Levels are those of a division, to the last bit. With the reciprocal r of the scale s in two parts the product of x with both is
within one unit in the last place of x / s. Its remainder x - q * s is then exact, and q plus that times r, rounded once, is the
correctly rounded quotient. Source: P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990.
"""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..assembly import Assembler, c_function, function
from ..conditions import MVE


@kernel(
    "DynamicQuantizeLinear",
    ImplSpec(inputs=(IOSpec(DType.float32, SAME),), outputs=(IOSpec(DType.uint8, SAME), IOSpec(DType.any)), features=MVE),
)
class DynamicQuantize(KernelNode):
    def call(self) -> Call:
        parameters = "const float *input, uint8_t *output, float *scale, uint8_t *zero_point, int32_t count"
        body = [
            "aidge_helium_measured found;",
            "float range[2];",
            "aidge_helium_range(input, range, count);",
            "if (aidge_helium_measure(range, &found) != 0) {",
            "    aidge_helium_levels(input, output, &found, count);",
            "} else {",
            "    aidge_helium_levels_c(input, output, &found, count);",
            "}",
            "*scale = found.scale;",
            "*zero_point = (uint8_t)found.zero_point;",
        ]
        name = "aidge_helium_dynamic_quantize"
        return Call(
            name,
            ("float32/dynamic_quantize.h",),
            (Input(0), *map(Output, range(3)), Literal(self.inputs[0].elements)),
            "products as exact as divisions",
            (_range_text(), _levels_text(), c_function(name, parameters, body)),
            facts=computed("4 values"),
        )


def _range_text() -> str:
    emit = Assembler()
    emit("push {r4, lr}", "mov r4, #0x80000000", "movs r3, #0", "vdup.32 q1, r4", "vdup.32 q2, r3", why="- 0 and 0")
    emit("wlstp.32 lr, r2, 2f")
    emit.label(1)
    emit(
        "vldrw.u32 q0, [r0], #16",
        "vmax.u32 q1, q1, q0",
        "vmax.s32 q2, q2, q0",
        why="floats of one sign have the order of integers",
    )
    emit("letp lr, 1b")
    emit.label(2)
    emit("vmaxv.u32 r4, q1", "vmaxv.s32 r3, q2", "strd r4, r3, [r1]", "pop {r4, pc}")
    plain = "    aidge_helium_range_c(x, range, count);"
    purpose = "The lowest and the highest of the numbers and 0."
    return function("aidge_helium_range", purpose, "const float *x, float *range, int32_t count", emit.lines, plain)


def _levels_text() -> str:
    emit = Assembler()
    emit("push {r4-r6, lr}", "ldm r2, {r2, r4-r6}", "vdup.32 q3, r2", why="scale, reciprocal in two parts, zero point")
    emit("wlstp.32 lr, r3, 2f")
    emit.label(1)
    emit("vldrw.u32 q0, [r0], #16", "vmul.f32 q1, q0, r5", "vfma.f32 q1, q0, r4", why="nearly the quotient")
    emit("vfms.f32 q0, q1, q3", "vfma.f32 q1, q0, r4", why="its remainder, and the quotient")
    emit("vcvtn.s32.f32 q1, q1", "vqadd.s32 q1, q1, r6", "vqmovunb.s32 q1, q1", "vqmovnb.u16 q1, q1", "vstrb.32 q1, [r1], #4")
    emit("letp lr, 1b")
    emit.label(2)
    emit("pop {r4-r6, pc}")
    return function(
        "aidge_helium_levels",
        "Levels of a run-time scale and zero point.",
        "const float *x, uint8_t *y, const aidge_helium_measured *numbers, int32_t count",
        emit.lines,
        "    aidge_helium_levels_c(x, y, numbers, count);",
    )
