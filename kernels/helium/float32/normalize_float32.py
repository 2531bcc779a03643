# SPDX-License-Identifier: MIT
"""float32 normalizations, four values at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.float_steps import VECTORS
from aidge_build.contract.kernel_kit.layer_norm_float32 import (
    OPERATORS,
    PARAMETERS,
    SCALED_PARAMETERS,
    LayerNormFloat32,
    scaled_name,
)
from aidge_build.contract.kernel_kit.linear_float32 import parameter
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import Assembler, function
from ..core.conditions import MVE

PREFIX, GROUPS = "aidge_helium_normalize", "aidge_helium_normalize_groups_float32"


def _statistics(view: NodeView) -> str:
    return "mean and deviation are outputs, too" if len(view.outputs) > 1 else ""


_SPEC = ImplSpec(IOSpec(DType.float32, ROW_MAJOR), features=MVE, predicates=(REAL, Predicate("one output", _statistics)))


_BIASES = {True: ("vldrw.u32 q1, [%bias], #16", "vadd.f32 q0, q0, q1"), False: ()}


@kernel(OPERATORS, _SPEC)
class HeliumLayerNorm(LayerNormFloat32):
    prefix, source, together = PREFIX, "float32/normalize.h", 4
    unit, lanes = VECTORS, 4

    def texts(self, has_bias: bool) -> Sequence[str]:
        return sums_text(False), sums_text(True), _scaled_text(has_bias)


@kernel(("GroupNormalization", "InstanceNormalization"), _SPEC)
class NormalizeGroupsFloat32(KernelNode):
    """Groups of channels whose values are neighbours, each channel, or each group, with a scale and a bias."""

    def call(self) -> Call:
        data, scale = self.inputs[:2]
        groups = self.operator.group_count(data.dims)
        runs = scale.dims[0] // groups
        length = math.prod(data.dims[1:]) // (groups * runs)
        shape = Struct("aidge_helium_groups_float32", {"batches": data.dims[0], "groups": groups, "runs": runs, "length": length})
        epsilon = Constant("epsilon", numpy.array([self.operator.epsilon], numpy.float32))
        return Call(
            GROUPS,
            ("float32/normalize.h",),
            (Input(0), parameter(self, 1, "scale"), parameter(self, 2, "bias"), Output(0), epsilon, shape),
            texts=(sums_text(False), sums_text(True), _moved_text(), _GROUPS_LAYER),
            facts=computed("4 values"),
        )


def _loop(name: str, purpose: str, parameters: str, begin: Sequence[str], each: Sequence[str], end=()) -> str:
    """The C text of a loop over %count values, four at a time."""
    emit = Assembler()
    emit("%enter", *begin, "wlstp.32 lr, %count, %done")
    emit.label("value")
    emit(*each, "letp lr, %value")
    emit.label("done")
    emit(*end, "%leave")
    return function(name, purpose, parameters, emit.lines)


def sums_text(of_squares: bool) -> str:
    """The C text for the sum of a row, or of the squares of what its values differ from the mean by."""
    begin = ["vmov.i32 q0, #0", *["ldr %mean, [%statistics]"] * of_squares]
    each = ["vsub.f32 q1, q1, %mean", "vfma.f32 q0, q1, q1"] if of_squares else ["vadd.f32 q0, q0, q1"]
    return _loop(
        f"{PREFIX}_{'squares' if of_squares else 'sum'}",
        f"statistics[1] = the sum of {'squares of what values differ from statistics[0] by' if of_squares else 'values'}.",
        PARAMETERS,
        begin,
        ["vldrw.u32 q1, [%row], #16", *each],
        ["vadd.f32 s0, s0, s1", "vadd.f32 s2, s2, s3", "vadd.f32 s0, s0, s2", "vstr s0, [%statistics, #4]"],
    )


def _scaled_text(has_bias: bool) -> str:
    begin = ["ldrd %mean, %factor, [%statistics]", *(["ldrd %scale, %bias, [%argument.4]"] if has_bias else [])]
    begin += [] if has_bias else ["ldr %scale, [%argument.4]"]
    each = ["vldrw.u32 q0, [%row], #16", "vsub.f32 q0, q0, %mean", "vmul.f32 q0, q0, %factor"]
    each += ["vldrw.u32 q1, [%scale], #16", "vmul.f32 q0, q0, q1", *_BIASES[has_bias], "vstrw.32 q0, [%output], #16"]
    purpose = "Values less the mean, over the deviation, with scale and bias."
    return _loop(scaled_name(PREFIX, has_bias), purpose, SCALED_PARAMETERS, begin, each)


def _moved_text() -> str:
    return _loop(
        f"{GROUPS}_moved",
        "output = (row - mean) * factor + shift.",
        "const float *row, float *output, const float *numbers, int32_t count",
        ["ldm %numbers, {%mean, %factor, %shift}", "vdup.32 q1, %factor"],
        ["vldrw.u32 q0, [%row], #16", "vsub.f32 q0, q0, %mean", "vfmas.f32 q0, q1, %shift", "vstrw.32 q0, [%output], #16"],
    )


_GROUPS_LAYER = f"""/* Group by group. */
static void {GROUPS}(const float *input, const float *scale, const float *bias, float *output, const float *epsilon,
    const aidge_helium_groups_float32 *shape)
{{
    const int32_t count = shape->runs * shape->length;
    float statistics[2], numbers[3];
    int32_t left, place, run;
    for (left = shape->batches * shape->groups, place = 0; left > 0; left--) {{
        {PREFIX}_sum(input, statistics, count);
        statistics[0] = statistics[1] / (float)count;
        {PREFIX}_squares(input, statistics, count);
        statistics[1] = 1.0f / sqrtf(statistics[1] / (float)count + *epsilon);
        for (run = 0; run < shape->runs; run++) {{
            numbers[0] = statistics[0];
            numbers[1] = statistics[1] * scale[place];
            numbers[2] = bias[place];
            {GROUPS}_moved(input, output, numbers, shape->length);
            input += shape->length;
            output += shape->length;
            place = place + 1 == shape->groups * shape->runs ? 0 : place + 1;
        }}
    }}
}}"""
