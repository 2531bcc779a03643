# SPDX-License-Identifier: MIT
"""QuantizeLinear and DequantizeLinear between float32 and int8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import FEATURES, Routine, emit_stored

_NAMES = {"x": "a0", "y": "a1", "numbers": "a2", "count": "a3", "length": "t0", "zero": "t1", "low": "t2", "high": "t3"}
_NAMES |= {"scale": "fa0", "bytes": "t4"}


def _many_scales(view: NodeView) -> str:
    return f"{view.inputs[1].elements} scales, wants one" if view.inputs[1].elements > 1 else ""


def _spec(source: DType, result: DType) -> ImplSpec:
    return ImplSpec(
        inputs=(IOSpec(source, SAME), IOSpec(DType.float32, ANY), IOSpec(DType.int8, ANY)),
        outputs=(IOSpec(result, SAME),),
        features=FEATURES,
        predicates=(CONSTANT_PARAMETERS, Predicate("one scale", _many_scales)),
    )


class _Conversion(KernelNode):
    def converted(self, name: str, text: str) -> Call:
        """Returns the call of this function."""
        scale, zero_point = self.inputs[1].data.reshape(-1)[:1], self.inputs[2] if len(self.inputs) > 2 else None
        point = 0 if zero_point is None else int(zero_point.data.reshape(-1)[0])
        numbers = numpy.array([point, *DType.int8.range, int(scale.view(numpy.int32)[0])], numpy.int32)
        return Call(
            name,
            ("core/target.h",),
            (Input(0), Output(0), Constant("numbers", numbers), Literal(self.outputs[0].elements)),
            texts=(text,),
            facts=computed("a vector of values"),
        )


@kernel("QuantizeLinear", _spec(DType.float32, DType.int8))
class QuantizeFloat32Int8(_Conversion):
    def call(self) -> Call:
        name = "aidge_rvv_quantize_float32_int8"
        code = _begun()
        code("vle32.v v8, ({x})")
        code("vmv.v.i v16, 0")
        code("vmfeq.vv v0, v8, v8")
        code("vmerge.vvm v8, v16, v8, v0", "0 if it is no number")
        code("vfdiv.vf v8, v8, {scale}")
        code("vfcvt.x.f.v v8, v8")
        code("vsadd.vx v8, v8, {zero}")
        emit_stored(code, ["v8"], 8)
        code("vse8.v v8, ({y})")
        return self.converted(name, _ended(code, ("x",), name, "const float *x, int8_t *y"))


@kernel("DequantizeLinear", _spec(DType.int8, DType.float32))
class DequantizeInt8Float32(_Conversion):
    def call(self) -> Call:
        name = "aidge_rvv_dequantize_int8_float32"
        code = _begun()
        code("vle8.v v0, ({x})")
        code("vsext.vf4 v8, v0")
        code("vsub.vx v8, v8, {zero}")
        code("vfcvt.f.x.v v8, v8")
        code("vfmul.vf v8, v8, {scale}")
        code("vse32.v v8, ({y})")
        return self.converted(name, _ended(code, ("y",), name, "const int8_t *x, float *y"))


def _begun() -> Routine:
    code = Routine(_NAMES)
    for place, name in enumerate(("zero", "low", "high")):
        code(f"lw {{{name}}}, {4 * place}({{numbers}})")
    code("flw {scale}, 12({numbers})")
    code.label(1)
    code("vsetvli {length}, {count}, e32, m8, ta, ma")
    return code


def _ended(code: Routine, floats: Sequence[str], name: str, parameters: str) -> str:
    code("slli {bytes}, {length}, 2")
    for pointer in ("x", "y"):
        code(f"add {{{pointer}}}, {{{pointer}}}, {{{'bytes' if pointer in floats else 'length'}}}")
    code("sub {count}, {count}, {length}")
    code("bnez {count}, 1b")
    code("ret")
    return code.function(name, f"{parameters}, const int32_t *numbers, int32_t count", "Value after value.")
