# SPDX-License-Identifier: MIT
"""QuantizeLinear and DequantizeLinear between float32 and int8."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import WITH_FLOATS, Routine, emit_stored
from .rows import row_text

_NUMBERS = ("zero", "low", "high", "scale")


def _many_scales(view: NodeView) -> str:
    return f"{view.inputs[1].elements} scales, wants one" if view.inputs[1].elements > 1 else ""


def _spec(source: DType, result: DType) -> ImplSpec:
    return ImplSpec(
        inputs=(IOSpec(source, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)),
        outputs=(IOSpec(result, SAME),),
        features=WITH_FLOATS,
        predicates=(CONSTANT_PARAMETERS, Predicate("one scale", _many_scales)),
    )


class _Conversion(KernelNode):
    def converted(self, name: str, pointers: dict[str, str], body: Callable[[Routine], None]) -> Call:
        """Returns the call of this function."""
        scale, zero_point = self.inputs[1].data.reshape(-1)[:1], self.inputs[2] if len(self.inputs) > 2 else None
        point = 0 if zero_point is None else int(zero_point.data.reshape(-1)[0])
        numbers = numpy.array([point, *DType.int8.range, int(scale.view(numpy.int32)[0])], numpy.int32)
        return Call(
            name,
            ("core/target.h",),
            (Input(0), Output(0), Constant("numbers", numbers), Literal(self.outputs[0].elements)),
            texts=(row_text(name, "Value after value.", pointers, _NUMBERS, body),),
            facts=computed("a vector of values"),
        )


@kernel("QuantizeLinear", _spec(DType.float32, DType.int8))
class QuantizeFloat32Int8(_Conversion):
    def call(self) -> Call:
        return self.converted("aidge_rvv_quantize_float32_int8", {"x": "const float *", "y": "int8_t *"}, _emit_quantized)


@kernel("DequantizeLinear", _spec(DType.int8, DType.float32))
class DequantizeInt8Float32(_Conversion):
    def call(self) -> Call:
        return self.converted("aidge_rvv_dequantize_int8_float32", {"x": "const int8_t *", "y": "float *"}, _emit_real)


def _emit_quantized(code: Routine) -> None:
    code("vle32.v v8, ({x})")
    code("vmv.v.i v16, 0")
    code("vmfeq.vv v0, v8, v8")
    code("vmerge.vvm v8, v16, v8, v0", "0 if it is no number")
    code.lines("vfdiv.vf v8, v8, {scale}", "vfcvt.x.f.v v8, v8", "vsadd.vx v8, v8, {zero}")
    emit_stored(code, ["v8"], 8)
    code("vse8.v v8, ({y})")


def _emit_real(code: Routine) -> None:
    code.lines("vle8.v v0, ({x})", "vsext.vf4 v8, v0", "vsub.vx v8, v8, {zero}", "vfcvt.f.x.v v8, v8")
    code("vfmul.vf v8, v8, {scale}")
    code("vse32.v v8, ({y})")
