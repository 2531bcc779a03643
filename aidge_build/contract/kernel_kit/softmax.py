# SPDX-License-Identifier: MIT
"""int8 softmax of long rows by one product for each value (kernels/kit/softmax.h)."""

from __future__ import annotations

from typing import ClassVar

import numpy

from aidge_build.contract.call import Call, Constant, Input, Literal, Output, computed
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.operators.arithmetic.softmax import factored, softmax_table

SHORTEST = 4  # from this row length on a reciprocal takes fewer instructions than a quotient for each value
FINEST = 2.0**-10  # the least output scale: quotients stay below 1,024, which leaves 19 fraction bits


def _rows(form: DFormat, shortest: int) -> Predicate:
    """Returns the condition on rows: along the last axis, or for CHANNELS_LAST over the channels of a pixel."""

    def reason(view: NodeView) -> str:
        operator, (data,) = view.operator, view.inputs
        if form is CHANNELS_LAST and (data.rank < 3 or operator.until_end or operator.axis % data.rank != 1):
            return "a row's values are no channels of a pixel"
        if form is ROW_MAJOR and not operator.until_end and operator.axis % data.rank != data.rank - 1:
            return "a row's values are no neighbours"
        length = operator.row_length(data.dims)
        return "" if length >= shortest else f"rows of {length} values, wants at least {shortest}"

    return Predicate(f"rows of at least {shortest} {'channels' if form is CHANNELS_LAST else 'neighbours'}", reason)


def _output_scale(view: NodeView) -> str:
    scale = view.outputs[0].quantization.scale
    return "" if scale >= FINEST else f"the output scale is {scale}, wants at least {FINEST}"


def _smaller_without(view: NodeView) -> str:
    return "exponentials of two factors take 864 B less" if are_factored(view) else ""


TABLE_PAYS = Predicate("a table of all exponentials", _smaller_without)


def softmax_spec(
    features: frozenset[str], *predicates: Predicate, form: DFormat = ROW_MAJOR, shortest: int = SHORTEST
) -> ImplSpec:
    """Returns the spec of rows of neighbouring int8 values: along the last axis, or for CHANNELS_LAST over the channels of a
    pixel."""
    return ImplSpec(
        IOSpec(DType.int8, form),
        predicates=(
            ALL_QUANTIZED,
            _rows(form, shortest),
            Predicate("an output scale of at least 2^-10", _output_scale),
            *predicates,
        ),
        features=features,
    )


def rows_and_pixels(features: frozenset[str]) -> tuple[ImplSpec, ...]:
    """Returns the specs of rows of neighbours and of the channels of each pixel, where a table pays."""
    return tuple(softmax_spec(features, TABLE_PAYS, form=form) for form in (ROW_MAJOR, CHANNELS_LAST))


def are_factored(view: NodeView) -> bool:
    """Whether each exponential is the product of two factors: two dozen instructions more for each value, but 864 B less."""
    return view.objective == "size"


def constants(view: NodeView, is_factored: bool, are_ascending: bool = False) -> tuple[Constant, Constant, Constant]:
    """Returns the constants of a softmax of int8 values along one axis, in the order of the C parameters; `are_ascending`: the
    smallest exponential first."""
    (data,), (output,) = view.inputs, view.outputs
    scale = float(data.quantization.scale)
    table = softmax_table(scale, float(output.quantization.scale), view.operator.row_length(data.dims))
    exponentials = factored(table, scale) if is_factored else table.exponentials[:: -1 if are_ascending else 1]
    return (
        Constant("exponentials", numpy.array(exponentials, numpy.uint32)),
        Constant("quotient", numpy.array([table.shift, table.factor], numpy.uint64)),
        Constant("zero_point", numpy.array([output.quantization.zero_point], numpy.int32)),
    )


class SoftmaxRows(KernelNode):
    """Rows of neighbours by kernels/kit/softmax_rows.h; the table's smallest exponential comes first. A library's subclass names
    its `function`."""

    function: ClassVar[str]

    def call(self) -> Call:
        (data,), (output,) = self.inputs, self.outputs
        length = self.operator.row_length(data.dims)
        return Call(
            self.function,
            ("kit/softmax_rows.h",),
            (
                Input(0),
                Output(0),
                *constants(self.view, False, are_ascending=True),
                Literal(output.elements // length),
                Literal(length),
            ),
            texts=(_ROWS.format(self.function),),
            facts=computed("1 value"),
        )


_ROWS = """/* Softmax of rows of neighbouring int8 values. */
static void {}(const int8_t *input, int8_t *output, const uint32_t *exponentials, const uint64_t *quotient,
    const int32_t *zero_point, int32_t rows, int32_t length)
{{
    aidge_kit_softmax_rows_int8(input, output, exponentials, quotient, zero_point, rows, length);
}}"""
