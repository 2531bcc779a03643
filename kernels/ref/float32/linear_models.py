# SPDX-License-Identifier: MIT
"""Linear models of ai.onnx.ml, float32, as generated functions: sums, label and transform of one row after the other."""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, ImplSpec, IOSpec
from aidge_build.graph.dtype import DType

from ..shared.class_scores import LabelTable, transform_name, transform_text

SCORES = ("float32/linear_scores_float32.h",)
_FLOAT = IOSpec(DType.float32, ROW_MAJOR)


class _Linear(KernelNode):
    def numbers(self) -> tuple[Argument, ...]:
        """Weights and intercepts."""
        operator = self.operator
        return (
            Constant("weights", numpy.array(operator.coefficients, numpy.float32)),
            Constant("intercepts", numpy.array(operator.intercepts, numpy.float32)),
        )

    def sizes(self) -> tuple[Literal, ...]:
        """Rows, features, sums."""
        dims = self.inputs[0].dims
        return Literal(1 if len(dims) == 1 else dims[0]), Literal(dims[-1]), Literal(len(self.operator.intercepts))


@kernel("LinearRegressor", ImplSpec(_FLOAT))
class LinearRegressor(_Linear):
    def call(self) -> Call:
        transform = self.operator.applied
        function = f"aidge_ref_linear_regressor_{transform_name(transform)}"
        after = transform_text(transform, "output", "count")
        text = f"""/* output[row] = weights[count][features] * input[row] + intercepts, transformed. */
static void {function}(const float *input, float *output, const float *weights, const float *intercepts, int32_t rows,
    int32_t features, int32_t count)
{{
    for (; rows > 0; rows--) {{
        aidge_ref_linear_scores_float32(input, output, weights, intercepts, features, count);
        {after}
        input += features;
        output += count;
    }}
}}"""
        arguments = (Input(0), Output(0), *self.numbers(), *self.sizes())
        return Call(function, SCORES, arguments, texts=(tidy(text),))


@kernel("LinearClassifier", ImplSpec(inputs=(_FLOAT,), outputs=(IOSpec(DType.int64, ROW_MAJOR), _FLOAT)))
class LinearClassifier(_Linear):
    def call(self) -> Call:
        operator, labels = self.operator, LabelTable(self.operator.choices)
        single = len(operator.intercepts) == 1
        best = "scores[0] > 0.0f ? 1 : 0" if single else "aidge_ref_largest_float32(scores, count)"
        applied = operator.applied
        if operator.adds_second and operator.transform.name == "LOGISTIC":
            applied = operator.transform
            after = "scores[1] = scores[0];\n        scores[0] = -scores[1];\n        aidge_ref_scores_logistic(scores, 2);"
            kind, step = "two_logistic", "2"
        elif operator.adds_second:
            after, step, kind = "scores[1] = scores[0];\n        scores[0] = 1.0f - scores[1];", "2", "two"
        else:
            kind = f"{'one' if single else 'many'}_{transform_name(applied)}"
            after, step = transform_text(applied, "scores", "count"), "count"
        function = f"aidge_ref_linear_classifier_{kind}_{labels.name}"
        text = f"""/* scores[row] = weights[count][features] * input[row] + intercepts; the label of the largest; transformed. */
static void {function}(const float *input, int64_t *label, float *scores, const float *weights, const float *intercepts
    {labels.parameter}, int32_t rows, int32_t features, int32_t count)
{{
    for (; rows > 0; rows--) {{
        int32_t best;
        aidge_ref_linear_scores_float32(input, scores, weights, intercepts, features, count);
        best = {best};
        *label++ = {labels.at("best")};
        {after}
        input += features;
        scores += {step};
    }}
}}"""
        arguments = (Input(0), Output(0), Output(1), *self.numbers(), *labels.arguments, *self.sizes())
        return Call(function, SCORES, arguments, texts=(tidy(text),))


def tidy(text: str) -> str:
    """The text without lines that hold nothing."""
    return "\n".join(line for line in text.replace("\n    ,", ",").splitlines() if line.strip())
