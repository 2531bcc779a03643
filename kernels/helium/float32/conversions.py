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
    emit("%enter", "ldm %numbers, {%high, %low, %zero}", "wlstp.32 lr, %count, %done", why="1 / scale in two parts, zero point")
    emit.label("four")
    emit(
        "vldrw.u32 %q.x, [%x], #16",
        *_levels("", has_low),
        "vqmovnb.s32 %q.level, %q.level",
        "vqadd.s16 %q.level, %q.level, %zero",
    )
    emit("vqmovnb.s16 %q.level, %q.level", "vstrb.32 %q.level, [%y], #4", "letp lr, %four")
    emit.label("done")
    emit("%leave")
    return function(
        name,
        "QuantizeLinear from float32 to int8.",
        "const float *x, int8_t *y, const int32_t *numbers, int32_t count",
        emit.lines,
    )


def _levels(which: str, has_low: bool) -> list[str]:
    """Words without the zero point."""
    level, number = f"%q.level{which}", f"%q.x{which}"
    product = [f"vmul.f32 {level}, {number}, %low", f"vfma.f32 {level}, {number}, %high"]
    return [*(product if has_low else [f"vmul.f32 {level}, {number}, %high"]), f"vcvtn.s32.f32 {level}, {level}"]


def _two_vectors_text(name: str, has_low: bool, count: int) -> str:
    """Converts the first four and the last four of 4 to 8 values, some of them twice: without a loop."""
    emit, second = Assembler(), count - 4
    emit("%enter", "ldm %numbers, {%high, %low, %zero}", f"vldrw.u32 %q.x1, [%x, #{4 * second}]", "vldrw.u32 %q.x0, [%x]")
    emit(*_levels("0", has_low), *_levels("1", has_low), "vqmovnb.s32 %q.level0, %q.level0", "vqmovnt.s32 %q.level0, %q.level1")
    emit("vqadd.s16 %q.level0, %q.level0, %zero", "vqmovnb.s16 %q.level0, %q.level0", "vshr.u32 %q.level1, %q.level0, #16")
    emit("vstrb.32 %q.level0, [%y]", f"vstrb.32 %q.level1, [%y, #{second}]", "%leave")
    return function(
        f"{name}_of_{count}",
        f"The same of {count} values.",
        "const float *x, int8_t *y, const int32_t *numbers",
        emit.lines,
    )


def _dequantize_text() -> str:
    emit = Assembler()
    emit("%enter", "ldrd %scale, %zero, [%numbers]", "wlstp.32 lr, %count, %done", why="zero point with its sign changed")
    emit.label("four")
    emit("vldrb.s32 %q.x, [%x], #4", "vadd.i32 %q.x, %q.x, %zero", "vcvt.f32.s32 %q.x, %q.x", "vmul.f32 %q.x, %q.x, %scale")
    emit("vstrw.32 %q.x, [%y], #16", "letp lr, %four")
    emit.label("done")
    emit("%leave")
    return function(
        "aidge_helium_dequantize_int8_float32",
        "DequantizeLinear from int8 to float32.",
        "const int8_t *x, float *y, const int32_t *numbers, int32_t count",
        emit.lines,
    )
