# SPDX-License-Identifier: MIT
"""QuantizeLinear by one scale, and DynamicQuantizeLinear."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output
from aidge_build.contract.kernel_kit.conditions import CONSTANT_PARAMETERS
from aidge_build.contract.kernel_kit.dynamic import end_name, is_above_0
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.conditions import FEATURES
from .dynamic_quantize import levels, measure
from .quantize import routine


def _many_scales(view: NodeView) -> str:
    return "" if view.inputs[1].elements == 1 else "several scales"


def _spec(result: DType) -> ImplSpec:
    return ImplSpec(
        inputs=(IOSpec(DType.float32, SAME), IOSpec(DType.float32, ANY), IOSpec(result, ANY)),
        outputs=(IOSpec(result, SAME),),
        features=FEATURES | {"fpu"},
        predicates=(CONSTANT_PARAMETERS, Predicate("one scale", _many_scales)),
    )


@kernel("QuantizeLinear", [_spec(result) for result in (DType.int8, DType.int16)])
class Quantize(KernelNode):
    """float32 to int8 or int16."""

    assembly = "needed"

    def call(self) -> Call:
        kind, count = self.outputs[0].dtype.name, self.outputs[0].elements
        name, text = routine(kind)
        scale = Constant("scale", numpy.ascontiguousarray(self.inputs[1].data.reshape(1)))
        given = self.inputs[2] if len(self.inputs) > 2 else None
        zero_point = 0 if given is None else int(given.data.reshape(()))
        numbers = Constant("zero_point", numpy.array([zero_point], numpy.int32))
        driver = f"""/* Both numbers come from the weights. */
static void {name}_by_one(const float *input, {kind}_t *output, const float *scale, const int32_t *zero_point, int32_t count)
{{
    {name}(input, output, scale, zero_point[0], count);
}}"""
        arguments = (Input(0), Output(0), scale, numbers, Literal(count))
        return Call(f"{name}_by_one", ("core/target.h",), arguments, texts=(text, driver))


@kernel(
    "DynamicQuantizeLinear",
    ImplSpec(
        inputs=(IOSpec(DType.float32, SAME),), outputs=(IOSpec(DType.uint8, SAME), IOSpec(DType.any)), features=FEATURES | {"fpu"}
    ),
)
class DynamicQuantize(KernelNode):
    assembly = "needed"

    def call(self) -> Call:
        is_above, top = is_above_0(self.view), self.operator.maximum
        found, found_text = measure(is_above, top)
        bytes_, bytes_text = levels(is_above)
        limited, limited_text = routine("uint8")
        name = f"aidge_cortexm_dynamic_quantize{'_above_0' * is_above}{end_name(top)}"
        driver = f"""/* The range, then the levels. */
static void {name}(const float *input, uint8_t *output, float *scale, uint8_t *zero_point, int32_t count)
{{
    if ({found}(input, scale, zero_point, count) != 0) {{
        {bytes_}(input, output, scale, zero_point, count);
    }} else {{
        {limited}(input, output, scale, zero_point[0], count);
    }}
}}"""
        arguments = (Input(0), *map(Output, range(3)), Literal(self.inputs[0].elements))
        return Call(name, ("core/target.h",), arguments, texts=(limited_text, found_text, bytes_text, driver))
