# SPDX-License-Identifier: MIT
"""QuantizeLinear and DequantizeLinear between float32 and int8, four values at a time."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.reciprocal import proved_reciprocal

from ..core.assembly import Assembler, function
from ..core.conditions import MVE

SMALLEST_SCALE = 2.0**-126  # below it products would be taken for 0


def _many_scales(view: NodeView) -> str:
    count = view.inputs[1].elements
    return f"{count} scales, wants one" if count > 1 else ""


def _no_product(view: NodeView) -> str:
    scale = float(view.inputs[1].data.reshape(-1)[0])
    return "" if proved_reciprocal(scale) else f"no product is proved equal to the division by {scale}"


def _tiny_scale(view: NodeView) -> str:
    scale = float(view.inputs[1].data.reshape(-1)[0])
    return f"the scale {scale} is no normal number" if scale < SMALLEST_SCALE else ""


ONE_SCALE = Predicate("one scale", _many_scales)
PROVED = Predicate("a product that is proved equal to the division", _no_product)
NORMAL = Predicate("a scale that is a normal number", _tiny_scale)


def _bits(*values: float) -> list[int]:
    return numpy.array(values, numpy.float32).view(numpy.int32).tolist()


class _Conversion(KernelNode):
    """The numbers of the constant inputs."""

    @property
    def scale(self) -> float:
        return float(self.inputs[1].data.reshape(-1)[0])

    @property
    def zero_point(self) -> int:
        given = self.inputs[2] if len(self.inputs) > 2 else None
        return 0 if given is None else int(given.data.reshape(-1)[0])


@kernel(
    "QuantizeLinear",
    ImplSpec(
        inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)),
        outputs=(IOSpec(DType.int8, SAME),),
        features=MVE,
        predicates=(CONSTANT_PARAMETERS, ONE_SCALE, PROVED),
    ),
)
class QuantizeFloat32Int8(_Conversion):
    def call(self) -> Call:
        high, low = proved_reciprocal(self.scale)
        name = f"aidge_helium_quantize_float32_int8{'' if low else '_power_of_two'}"
        count = self.outputs[0].elements
        are_two = 4 <= count <= 8  # vectors
        numbers = [*_bits(high, low), self.zero_point, *_bits(self.scale)]
        return Call(
            name + are_two * f"_of_{count}",
            ("core/helium.h",),
            (Input(0), Output(0), Constant("numbers", numpy.array(numbers, numpy.int32)), *([Literal(count)] * (not are_two))),
            "products proved equal to the division",
            (_two_vectors_text(name, bool(low), count) if are_two else _quantize_text(name, bool(low)),),
            facts=computed("4 values"),
        )


@kernel(
    "DequantizeLinear",
    ImplSpec(
        inputs=(IOSpec(DType.int8, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)),
        outputs=(IOSpec(DType.float32, SAME),),
        features=MVE,
        predicates=(CONSTANT_PARAMETERS, ONE_SCALE, NORMAL),
    ),
)
class DequantizeInt8Float32(_Conversion):
    def call(self) -> Call:
        numbers = [*_bits(self.scale), -self.zero_point]
        return Call(
            "aidge_helium_dequantize_int8_float32",
            ("core/helium.h",),
            (Input(0), Output(0), Constant("numbers", numpy.array(numbers, numpy.int32)), Literal(self.outputs[0].elements)),
            texts=(_dequantize_text(),),
            facts=computed("4 values"),
        )


def _quantize_text(name: str, has_low: bool) -> str:
    emit = Assembler()
    emit("push {r4-r6, lr}", "ldm r2, {r4-r6}", why="1 / scale in two parts, zero point")
    emit("wlstp.32 lr, r3, 2f")
    emit.label(1)
    emit("vldrw.u32 q0, [r0], #16")
    if has_low:
        emit("vmul.f32 q1, q0, r5", "vfma.f32 q1, q0, r4")
    else:
        emit("vmul.f32 q1, q0, r4")
    emit("vcvtn.s32.f32 q1, q1", "vqmovnb.s32 q1, q1", "vqadd.s16 q1, q1, r6", "vqmovnb.s16 q1, q1", "vstrb.32 q1, [r1], #4")
    emit("letp lr, 1b")
    emit.label(2)
    emit("pop {r4-r6, pc}")
    return function(
        name,
        "QuantizeLinear from float32 to int8.",
        "const float *x, int8_t *y, const int32_t *numbers, int32_t count",
        emit.lines,
    )


def _two_vectors_text(name: str, has_low: bool, count: int) -> str:
    """Of 4 to 8 values the first four and the last four, some of them twice: without a loop."""
    emit, second = Assembler(), count - 4
    emit(f"vldrw.u32 q1, [r0, #{4 * second}]", "vldrw.u32 q0, [r0]", "ldm r2, {r2, r3, r12}")
    for numbers, quotients in (("q0", "q2"), ("q1", "q3")):
        emit(f"vmul.f32 {quotients}, {numbers}, {'r3' if has_low else 'r2'}")
        if has_low:
            emit(f"vfma.f32 {quotients}, {numbers}, r2")
        emit(f"vcvtn.s32.f32 {quotients}, {quotients}")
    emit("vqmovnb.s32 q2, q2", "vqmovnt.s32 q2, q3", "vqadd.s16 q2, q2, r12", "vqmovnb.s16 q2, q2")
    emit("vshr.u32 q3, q2, #16", "vstrb.32 q2, [r1]", f"vstrb.32 q3, [r1, #{second}]", "bx lr")
    return function(
        f"{name}_of_{count}",
        f"The same of {count} values.",
        "const float *x, int8_t *y, const int32_t *numbers",
        emit.lines,
    )


def _dequantize_text() -> str:
    emit = Assembler()
    emit("push {r4-r6, lr}", "ldrd r4, r5, [r2]", why="scale, zero point with its sign changed")
    emit("wlstp.32 lr, r3, 2f")
    emit.label(1)
    emit("vldrb.s32 q0, [r0], #4", "vadd.i32 q0, q0, r5", "vcvt.f32.s32 q0, q0", "vmul.f32 q0, q0, r4")
    emit("vstrw.32 q0, [r1], #16", "letp lr, 1b")
    emit.label(2)
    emit("pop {r4-r6, pc}")
    return function(
        "aidge_helium_dequantize_int8_float32",
        "DequantizeLinear from int8 to float32.",
        "const int8_t *x, float *y, const int32_t *numbers, int32_t count",
        emit.lines,
    )
