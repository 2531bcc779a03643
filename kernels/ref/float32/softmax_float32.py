# SPDX-License-Identifier: MIT
"""float32 functions of rows: softmax, its logarithm, the place of the largest value, and rows divided by a norm; generated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aidge_build.contract.call import Call, Input, Output
from aidge_build.contract.kernel_kit.float_functions import exponential
from aidge_build.contract.kernel_kit.float_layers import SoftmaxRows
from aidge_build.contract.kernel_kit.float_steps import unit_of
from aidge_build.contract.kernel_kit.rows import ALONG_ONE_AXIS, logical_axes, rows_along, rows_of, softmax_specs
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ROW_MAJOR, SAME, Demands, ImplSpec, IOSpec, NodeView
from aidge_build.graph.dtype import DType

from ..shared.rows import softmax_shape

_ROW_MAJOR = ImplSpec(IOSpec(DType.float32, ROW_MAJOR))


def _each(*statements: str) -> tuple[str, ...]:
    """The loop over the places i of a row."""
    return "for (i = row; i < size; i += inner) {", *(f"    {statement}" for statement in statements), "}"


_LARGEST = "float largest = input[row];", *_each("largest = input[i] > largest ? input[i] : largest;")
_SUM = "float sum = 0.0f;"
_OF_SCORES = {
    "Softmax": (
        *(_SUM, *_LARGEST),
        *_each("output[i] = aidge_kit_exp(input[i] - largest);", "sum += output[i];"),
        *_each("output[i] /= sum;"),
    ),
    "LogSoftmax": (
        *(_SUM, *_LARGEST),
        *_each("sum += aidge_kit_exp(input[i] - largest);"),
        "sum = logf(sum);",
        *_each("output[i] = aidge_kit_exact(input[i] - largest) - sum;"),
    ),
    "Hardmax": (
        "int32_t best = row;",
        *_each("best = input[i] > input[best] ? i : best;"),
        *_each("output[i] = i == best ? 1.0f : 0.0f;"),
    ),
}
_NORMS = {  # each ends with the norm as `largest` or `sum`
    "max": _LARGEST,
    "l1": (_SUM, *_each("sum += fabsf(input[i]);")),
    "l2": (_SUM, *_each("sum += input[i] * input[i];"), "sum = sqrtf(sum);"),
}


class _RowFunction(KernelNode):
    def of_rows(self, name: str, statements: Sequence[str], sizes: tuple[int, int, int]) -> Call:
        """The call of a function that runs these statements for each row."""
        function = f"aidge_ref_{name}_float32"
        body = "\n".join(f"            {statement}" for statement in statements)
        text = f"""/* Rows of elements that lie `inner` apart. */
static void {function}(const float *input, float *output, const aidge_ref_softmax_shape *shape)
{{
    const int32_t inner = shape->inner;
    const int32_t size = shape->length * inner;
    int32_t block, row, i;
    for (block = 0; block < shape->outer; block++) {{
        for (row = 0; row < inner; row++) {{
{body}
        }}
        input += size;
        output += size;
    }}
}}"""
        headers = ("shared/each.h", "shared/float_model.h", "kit/exp_float32.h", "shared/softmax_shape.h")
        return Call(function, headers, (Input(0), Output(0), softmax_shape(sizes)), texts=(text,))


class OfScores(_RowFunction):
    stem = ""

    def call(self) -> Call:
        return self.of_rows(self.stem, _OF_SCORES[self.node.type], rows_of(self.operator, self.outputs[0]))


@kernel("Softmax", softmax_specs(DType.float32))
class SoftmaxFloat32(OfScores):
    stem = "softmax"

    def call(self) -> Call:
        axes = logical_axes(self.operator, self.outputs[0].rank)
        return replace(super().call(), steps=SoftmaxRows(unit_of(self.view.features), axes, exponential, divides=True))


@kernel("LogSoftmax", _ROW_MAJOR)
class LogSoftmaxFloat32(OfScores):
    stem = "log_softmax"


@kernel("Hardmax", _ROW_MAJOR)
class HardmaxFloat32(OfScores):
    stem = "hardmax"


@kernel("ZeroedRows", ImplSpec(IOSpec(DType.float32, SAME), predicates=(ALONG_ONE_AXIS,)))
class ZeroedRowsFloat32(_RowFunction):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(in_place=(0,))

    def call(self) -> Call:
        zeros, copies = _each("output[i] = 0.0f;"), _each("output[i] = input[i];")
        statements = ("if (input[row] != input[row]) {", *zeros, "} else if (input != output) {", *copies, "} else {", "}")
        return self.of_rows("zeroed_rows", statements, rows_of(self.operator, self.outputs[0]))


@kernel("LpNormalization", _ROW_MAJOR)
class LpNormalizationFloat32(_RowFunction):
    def call(self) -> Call:
        norm = f"l{self.operator.order}"
        statements = (*_NORMS[norm], *_each("output[i] = sum > 0.0f ? input[i] / sum : 0.0f;"))
        return self.of_rows(f"{norm}_normalize", statements, rows_along(self.outputs[0], self.operator.axis))


@kernel("Normalizer", _ROW_MAJOR)
class NormalizerFloat32(_RowFunction):
    """Normalizer of ai.onnx.ml: a row with the norm 0 stays."""

    def call(self) -> Call:
        norm = self.operator.norm.lower()
        by = "largest" if norm == "max" else "sum"
        statements = (*_NORMS[norm], *_each(f"output[i] = {by} == 0.0f ? input[i] : input[i] / {by};"))
        return self.of_rows(f"normalizer_{norm}", statements, rows_along(self.outputs[0], -1))
