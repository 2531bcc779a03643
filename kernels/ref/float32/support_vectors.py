# SPDX-License-Identifier: MIT
"""Support vector machines of ai.onnx.ml, float32, as generated functions around the kernels of support_vectors_float32.h.

Each support vector is read once: its kernel goes into the decisions of all pairs that its class is in.
"""

from __future__ import annotations

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Literal, Output, Scratch
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType

from ..shared.class_scores import LabelTable, smallest, transform_name, transform_text
from .linear_models import SCORES, tidy

_FLOAT, _LABELS = IOSpec(DType.float32, ROW_MAJOR), IOSpec(DType.int64, ROW_MAJOR)
_HEADERS = ("float32/support_vectors_float32.h",)
_POWERS = {2.0: "square", 3.0: "cube"}


class _Machine(KernelNode):
    @property
    def vector_kernel(self) -> str:
        """The C function of the kernel without its prefix."""
        operator = self.operator
        name = _POWERS.get(operator.degree, "power") if operator.kernel == "POLY" else operator.kernel.lower()
        return f"svm_{name}_float32"

    def numbers(self, coefficients: numpy.ndarray) -> tuple[Constant, ...]:
        """Vectors, coefficients, rho, and the parameters of the kernel."""
        operator = self.operator
        found = {
            "vectors": operator.vectors,
            "coefficients": coefficients.reshape(-1),
            "rho": operator.rho,
            "parameters": (operator.gamma, operator.coef0, operator.degree),
        }
        return tuple(Constant(name, numpy.array(values, numpy.float32)) for name, values in found.items() if len(values))

    def sizes(self) -> tuple[Literal, Literal]:
        """Rows and features."""
        dims = self.inputs[0].dims
        return Literal(1 if len(dims) == 1 else dims[0]), Literal(dims[-1])


@kernel("SVMRegressor", ImplSpec(_FLOAT))
class SVMRegressor(_Machine):
    def call(self) -> Call:
        operator = self.operator
        vectors = bool(operator.vectors)
        kind = self.vector_kernel if vectors else "svm_weights"
        function = f"aidge_ref_{kind}_regressor{'_sign' if operator.one_class else ''}"
        result = "sum > 0.0f ? 1.0f : -1.0f" if operator.one_class else "sum"
        term = f"coefficients[i] * aidge_ref_{self.vector_kernel}(input, vectors + i * features, features, parameters)"
        step = term if vectors else "coefficients[i] * input[i]"
        given = "const float *vectors, " if vectors else ""
        text = f"""/* output[row] = the sum of coefficients * kernel(input[row], vector) + rho. */
static void {function}(const float *input, float *output, {given}const float *coefficients, const float *rho,
    const float *parameters, int32_t rows, int32_t features, int32_t count)
{{
    for (; rows > 0; rows--) {{
        float sum = 0.0f;
        int32_t i;
        for (i = 0; i < count; i++) {{
            sum += {step};
        }}
        sum += rho[0];
        *output++ = {result};
        input += features;
    }}
    {"" if vectors else "(void)parameters;"}
}}"""
        numbers = self.numbers(numpy.array(operator.coefficients))
        arguments = (Input(0), Output(0), *numbers, *self.sizes(), Literal(len(operator.coefficients)))
        return Call(function, _HEADERS, arguments, texts=(tidy(text),))


def _room(view: NodeView) -> int:
    """Floats beside the outputs: decisions where they are no output, and what the coupling of probabilities takes."""
    operator, classes = view.operator, len(view.operator.labels)
    return len(operator.pairs) + classes * (classes + 1) if operator.prob_a else 0


@kernel("SVMClassifier", ImplSpec(inputs=(_FLOAT,), outputs=(_LABELS, _FLOAT)))
class SVMClassifier(_Machine):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(scratch_bytes=4 * _room(view))

    def call(self) -> Call:
        return self._of_pairs() if self.operator.counts else self._linear()

    def _of_pairs(self) -> Call:
        operator, labels, classes = self.operator, LabelTable(self.operator.labels), len(self.operator.labels)
        count_type = smallest(operator.counts)
        probabilities = bool(operator.prob_a)
        kind = "probabilities" if probabilities else "two" if classes == 2 else "pairs"
        function = f"aidge_ref_{self.vector_kernel}_{kind}_{transform_name(operator.transform)}_{labels.name}_{count_type.name}"
        step = {"probabilities": "classes", "two": "2", "pairs": "pairs"}[kind]
        given = ", const float *prob_a, const float *prob_b, void *scratch" if probabilities else ""
        decisions = "(float *)scratch" if probabilities else "scores + 1" if classes == 2 else "scores"
        text = f"""/* Each vector's kernel goes into the decisions of the pairs that its class is in: vectors[...][features],
 * coefficients[...][classes - 1], counts[classes] vectors of each class. */
static void {function}(const float *input, int64_t *label, float *scores, const float *vectors, const float *coefficients,
    const float *rho, const float *parameters, const {count_type.c_type} *counts{labels.parameter}{given}, int32_t rows,
    int32_t features, int32_t classes)
{{
    const int32_t pairs = classes * (classes - 1) / 2;
    for (; rows > 0; rows--) {{
        float *decisions = {decisions};
        const float *vector = vectors;
        const float *coefficient = coefficients;
        int32_t one, other, i;
        for (i = 0; i < pairs; i++) {{
            decisions[i] = rho[i];
        }}
        for (one = 0; one < classes; one++) {{
            for (i = counts[one]; i > 0; i--) {{
                const float value = aidge_ref_{self.vector_kernel}(input, vector, features, parameters);
                int32_t pair = one - 1;
                for (other = 0; other < one; other++) {{
                    decisions[pair] += value * *coefficient++;
                    pair += classes - other - 2;
                }}
                pair = one * (2 * classes - one - 1) / 2;
                for (other = one + 1; other < classes; other++) {{
                    decisions[pair++] += value * *coefficient++;
                }}
                vector += features;
            }}
        }}
        one = aidge_ref_svm_winner_float32(decisions, classes);
        *label++ = {labels.at("one")};
        {self._after(kind)}
        input += features;
        scores += {step};
    }}
}}"""
        table = numpy.array(operator.coefficients).reshape(classes - 1, -1).T
        extra: tuple[Argument, ...] = ()
        if probabilities:
            pairs = (Constant(name, numpy.array(getattr(operator, name), numpy.float32)) for name in ("prob_a", "prob_b"))
            extra = (*pairs, Scratch())
        counts = Constant("counts", numpy.array(operator.counts, count_type.numpy))
        arguments = (Input(0), Output(0), Output(1), *self.numbers(table), counts, *labels.arguments, *extra, *self.sizes())
        return Call(function, _HEADERS, (*arguments, Literal(classes)), texts=(tidy(text),))

    def _after(self, kind: str) -> str:
        """The statements after the decisions."""
        operator = self.operator
        if kind == "probabilities":
            call = "aidge_ref_svm_probabilities_float32(decisions, scores, prob_a, prob_b, decisions + pairs, classes);"
            return f"{call}\n        {transform_text(operator.transform, 'scores', 'classes')}"
        if kind == "pairs":
            return transform_text(operator.transform, "scores", "pairs")
        if operator.transform.name == "LOGISTIC":
            return "scores[0] = -scores[1];\n        aidge_ref_scores_logistic(scores, 2);"
        return "scores[0] = -scores[1];" if operator.transform.name == "NONE" else "scores[0] = 1.0f - scores[1];"

    def _linear(self) -> Call:
        operator, labels = self.operator, LabelTable(self.operator.labels)
        two = len(operator.labels) == 2
        bound = "" if not two else "half" if operator.all_positive else "zero"
        function = f"aidge_ref_svm_weights_{bound or 'many'}_{transform_name(operator.transform)}_{labels.name}"
        compare = {"": "", "half": "best = scores[best] >= 0.5f ? 1 : best;", "zero": "best = scores[best] > 0.0f ? 1 : best;"}
        text = f"""/* scores[row] = weights[count][features] * input[row] + rho; the label of the largest; transformed. */
static void {function}(const float *input, int64_t *label, float *scores, const float *weights, const float *rho
    {labels.parameter}, int32_t rows, int32_t features, int32_t count)
{{
    for (; rows > 0; rows--) {{
        int32_t best;
        aidge_ref_linear_scores_float32(input, scores, weights, rho, features, count);
        best = aidge_ref_largest_float32(scores, count);
        {compare[bound]}
        *label++ = {labels.at("best")};
        {transform_text(operator.transform, "scores", "count")}
        input += features;
        scores += count;
    }}
}}"""
        classes = len(operator.labels)
        weights = Constant("weights", numpy.array(operator.coefficients, numpy.float32))
        rho = Constant("rho", numpy.full(classes, operator.rho[0], numpy.float32))
        arguments = (Input(0), Output(0), Output(1), weights, rho, *labels.arguments, *self.sizes(), Literal(classes))
        return Call(function, SCORES, arguments, texts=(tidy(text),))
