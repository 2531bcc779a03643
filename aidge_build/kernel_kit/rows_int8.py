# SPDX-License-Identifier: MIT
"""int8 operations on two tensors by a function of rows: of the whole tensors, or with broadcasting row by row."""

from __future__ import annotations

from collections.abc import Callable

from aidge_build.arithmetic.products import float_product
from aidge_build.contract.call import Call, Constant, Literal
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.errors import AidgeError
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, channels_last, row_major
from aidge_build.kernel_kit.binary_int8 import BinaryInt8
from aidge_build.kernel_kit.broadcast import broadcast
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.operators.double.products import product_factor

SHORTEST = 4  # values of a row that is worth a call
REPEATS = "repeats.h"  # of the library: includes kit/broadcast.h


class RowsInt8(BinaryInt8):
    """An operation whose function takes (first, second, output, numbers, count)."""

    def by_rows(self, row: str, source: str, numbers: Constant, text: str, **said) -> Call:
        """The call of `row`, or of a function that calls it for each row."""
        pointers = (*self.pointers(), numbers)
        if all(tensor.dims == self.outputs[0].dims for tensor in self.inputs):
            return Call(row, (source,), (*pointers, Literal(self.outputs[0].elements)), texts=(text,), **said)
        return Call(f"{row}_rows", (source, REPEATS), (*pointers, self.shape()), texts=(text, _rows(row)), **said)


def _rows(row: str) -> str:
    return f"""/* The same with broadcasting, row by row. */
static void {row}_rows(
    const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, const aidge_kit_broadcast_shape *shape)
{{
    aidge_kit_broadcast_place place = {{{{0, 0, 0, 0}}, 0, 0}};
    int32_t left;
    for (left = shape->runs; left > 0; left--) {{
        {row}(first + place.first, second + place.second, output, numbers, shape->length);
        output += shape->length;
        aidge_kit_broadcast_next(shape, &place);
    }}
}}"""


def _unlike(view: NodeView) -> str:
    (first, second), (output,) = view.inputs, view.outputs
    if first.is_constant and second.is_constant:
        return "both inputs are constant"
    return "" if first.dims == second.dims == output.dims else f"dims {list(first.dims)} and {list(second.dims)} differ"


def _rows_in(formats: Callable[[int], Format]) -> Callable[[NodeView], str]:
    """Why two tensors in these formats share no rows."""

    def no_rows(view: NodeView) -> str:
        tensors = (*view.inputs, *view.outputs)
        if not _unlike(view):
            return "nothing is repeated"
        if any(not tensor.is_constant and tensor.rank != view.outputs[0].rank for tensor in tensors):
            return "a computed tensor has fewer axes than the output"
        stored = [tensor.with_(format=formats(tensor.rank)) for tensor in tensors]
        try:
            shape = broadcast(*stored).fields
        except AidgeError as error:
            return error.what
        if (shape["first_step"], shape["second_step"]) != (1, 1) or shape["length"] < SHORTEST:
            return f"dims {list(tensors[0].dims)} and {list(tensors[1].dims)} share no rows of at least {SHORTEST} values"
        return ""

    return no_rows


def rows_spec(features: frozenset[str], form: DFormat, *predicates: Predicate, rounding: str = "any") -> ImplSpec:
    """int8 operations in this format: SAME for tensors of the same dims, CHANNELS_LAST or ROW_MAJOR for those that repeat. Their
    numbers are proved on all pairs of stored values, and so under every contract."""
    sides = (IOSpec(DType.int8, form), IOSpec(DType.int8, form)), (IOSpec(DType.int8, form),)
    return ImplSpec(*sides, features=features, predicates=(ALL_QUANTIZED, _SHAPES[form], *predicates), rounding=rounding)


_SHAPES = {
    SAME: Predicate("tensors of the same dims", _unlike),
    CHANNELS_LAST: Predicate(f"rows of at least {SHORTEST} values with channels last", _rows_in(channels_last)),
    ROW_MAJOR: Predicate(f"rows of at least {SHORTEST} values", _rows_in(row_major)),
}


class ProductInt8(RowsInt8):
    """A product by one float32 multiplier."""

    def multiplier(self):
        """None where none is proved."""
        low, high, _ = self.bounds()
        quantizations = [tensor.quantization for tensor in (*self.inputs, *self.outputs)]
        return float_product(*quantizations, (low, high), self.meaning())


def _shifts_little(view: NodeView) -> str:
    shift = product_factor(view.inputs, view.outputs[0])[1]
    return "" if shift < 0 else "the factor is 0.5 or more"


def _unproved(view: NodeView) -> str:
    return "" if ProductInt8(view).multiplier() is not None else "no float32 multiplier is proved for all pairs of values"


SMALL_FACTOR = Predicate("a factor below 0.5", _shifts_little)  # levels then fit 16 bits
PROVED_PRODUCT = Predicate("the product in float32 is proved on all 65,536 pairs", _unproved)
