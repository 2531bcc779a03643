# SPDX-License-Identifier: MIT
"""DynamicQuantizeLinear: the range of the data, then their levels, 16 values in a turn and what is left four at a time.

Levels are those of a division, to the last bit. With the reciprocal r of the scale s in two parts the product of x with both is
within one unit in the last place of x / s. Its remainder x - q * s is then exact, and q plus that times r, rounded once, is the
correctly rounded quotient. Source: P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990.
"""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Literal, Output, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView
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
        is_above = _is_above_0(self.view)
        body = [
            "aidge_helium_measured found;",
            "float range[2];",
            f"aidge_helium_{_RANGES[is_above]}(input, range, count);",
            "if (aidge_helium_measure(range, &found) != 0) {",
            "    aidge_helium_levels(input, output, &found, count);",
            "} else {",
            "    aidge_helium_levels_c(input, output, &found, count);",
            "}",
            "*scale = found.scale;",
            "*zero_point = (uint8_t)found.zero_point;",
        ]
        name = "aidge_helium_dynamic_quantize" + "_above_0" * is_above
        return Call(
            name,
            ("float32/dynamic_quantize.h",),
            (Input(0), *map(Output, range(3)), Literal(self.inputs[0].elements)),
            "products as exact as divisions",
            (_range_text(is_above), _levels_text(), c_function(name, parameters, body)),
            facts=computed("16 values"),
        )


_RANGES = ("range", "highest")


def _is_above_0(view: NodeView) -> bool:
    """Whether the layer before clamps the data so that none is negative."""
    producer = view.graph.producer(view.node.inputs[0]) if view.graph else None
    return producer is not None and getattr(producer.operator, "minimum", -1) >= 0


LARGE = 0x4B400000  # the bits of 1.5 * 2^23: a float to which that is added is rounded to an integer, in its low 16 bits


def _turns(emit: Assembler, count: str, of_16: list[str], of_4: list[str]) -> None:
    """Turns of 16 values, which find `LARGE` in r12, while there are so many, then of 4; `count` and lr change."""
    emit(f"lsrs r12, {count}, #4", "wls lr, r12, 2f", "movw r12, #0", f"movt r12, #{LARGE >> 16}")
    emit.label(1)
    emit(*of_16, "le lr, 1b")
    emit.label(2)
    emit(f"ands {count}, {count}, #15", f"wlstp.32 lr, {count}, 4f")
    emit.label(3)
    emit(*of_4, "letp lr, 3b")
    emit.label(4)


def _range_text(is_above: bool) -> str:
    emit = Assembler()
    emit("push {r4, lr}", "mov r4, #0x80000000", "movs r3, #0", "vdup.32 q1, r4", "vdup.32 q2, r3", why="- 0 and 0")
    highest = ["vldrw.u32 q0, [r0], #16", "vmax.s32 q2, q2, q0"]  # floats of one sign have the order of integers
    turn = highest if is_above else [*highest, "vmax.u32 q1, q1, q0"]
    _turns(emit, "r2", 4 * turn, turn)
    emit("vmaxv.u32 r4, q1", "vmaxv.s32 r3, q2", "strd r4, r3, [r1]", "pop {r4, pc}")
    plain = "    aidge_helium_range_c(x, range, count);"
    purpose = "- 0 and the highest of numbers above 0." if is_above else "The lowest and the highest of the numbers and 0."
    return function(
        f"aidge_helium_{_RANGES[is_above]}", purpose, "const float *x, float *range, int32_t count", emit.lines, plain
    )


def _quotient(numbers: str, quotient: str) -> list[str]:
    """Quotients of four numbers, which change. r2: the scale with its sign changed, r4, r5: its reciprocal."""
    return [
        f"vmul.f32 {quotient}, {numbers}, r5",
        f"vfma.f32 {quotient}, {numbers}, r4",
        f"vfma.f32 {numbers}, {quotient}, r2",
        f"vfma.f32 {quotient}, {numbers}, r4",
    ]


def _levels_text() -> str:
    emit = Assembler()
    emit(
        "push {r4-r6, lr}", "vpush {d8-d9}", "ldm r2, {r2, r4-r6}", "eor r2, r2, #0x80000000", why="scale, reciprocal, zero point"
    )
    of_16 = [f"vld4{part}.32 {{q0, q1, q2, q3}}, [r0]{'!' * (part == 3)}" for part in range(4)]
    for register in range(4):
        of_16 += [*_quotient(f"q{register}", "q4"), f"vadd.f32 q{register}, q4, r12"]
    of_16 += ["vmovnt.i32 q0, q2", "vmovnt.i32 q1, q3", "vqadd.s16 q0, q0, r6", "vqadd.s16 q1, q1, r6"]
    of_16 += ["vqmovunb.s16 q0, q0", "vqmovunt.s16 q0, q1", "vstrb.8 q0, [r1], #16"]
    of_4 = ["vldrw.u32 q0, [r0], #16", *_quotient("q0", "q1"), "vcvtn.s32.f32 q1, q1", "vqadd.s32 q1, q1, r6"]
    of_4 += ["vqmovunb.s32 q1, q1", "vqmovnb.u16 q1, q1", "vstrb.32 q1, [r1], #4"]
    _turns(emit, "r3", of_16, of_4)
    emit("vpop {d8-d9}", "pop {r4-r6, pc}")
    return function(
        "aidge_helium_levels",
        "Levels of a run-time scale and zero point.",
        "const float *x, uint8_t *y, const aidge_helium_measured *numbers, int32_t count",
        emit.lines,
        "    aidge_helium_levels_c(x, y, numbers, count);",
    )
