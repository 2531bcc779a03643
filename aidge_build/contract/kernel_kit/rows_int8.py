# SPDX-License-Identifier: MIT
"""int8 operations on two tensors by a function of rows, called once for the whole tensors or, with broadcasting, for each row. An
operand that repeats one value along a row, or has rows too short for a call each, is first written to scratch in the output's
shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from aidge_build.base.errors import AidgeError
from aidge_build.contract.call import Call, Constant, Literal, Scratch, Struct
from aidge_build.contract.kernel_kit.binary_int8 import BinaryInt8
from aidge_build.contract.kernel_kit.broadcast import broadcast
from aidge_build.contract.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME, Demands, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, channels_last, row_major
from aidge_build.operators.arithmetic.products import float_product
from aidge_build.operators.double.products import product_factor

SHORTEST = 4  # values of a row that is worth a call
ROOM = 256  # AIDGE_KIT_BROADCAST_ROOM: bytes of scratch for each operand that is written there
PIECES = "core/pieces.h"  # a header of the library that includes kit/broadcast_pieces.h


class RowsInt8(BinaryInt8):
    """An operation by a function (first, second, output, numbers, count). `rows` is a header of the library that includes
    kit/broadcast.h."""

    rows = "core/repeats.h"

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return replace(super().demands(view), scratch_bytes=ROOM * len(_written(view)))

    def by_rows(self, row: str, source: str, numbers: Constant, text: str, **said) -> Call:
        """Returns the call of `row`, or of a function that calls `row` for each row, or for pieces of one row or several."""
        pointers = (*self.pointers(), numbers)
        if all(tensor.dims == self.outputs[0].dims for tensor in self.inputs):
            return Call(row, (source,), (*pointers, Literal(self.outputs[0].elements)), texts=(text,), **said)
        written = _written(self.view)
        if not written:
            return Call(f"{row}_rows", (source, self.rows), (*pointers, self.shape()), texts=(text, rows_text(row)), **said)
        name = f"{row}_pieces_{'_'.join(('first', 'second')[place] for place in written)}"
        arguments = (*pointers, Scratch(), self.shape())
        return Call(name, (source, PIECES), arguments, texts=(text, _pieces(name, row, written)), **said)


def rows_text(row: str, value: str = "int8_t") -> str:
    """Returns the C function `row`_rows that calls `row` for each row of a tensor of values of this type."""
    return f"""/* The same with broadcasting, row by row. */
static void {row}_rows(
    const {value} *first, const {value} *second, {value} *output, const int32_t *numbers, const aidge_kit_broadcast_shape *shape)
{{
    aidge_kit_broadcast_place place = {{{{0, 0, 0, 0}}, 0, 0}};
    int32_t left;
    for (left = shape->runs; left > 0; left--) {{
        {row}(first + place.first, second + place.second, output, numbers, shape->length);
        output += shape->length;
        aidge_kit_broadcast_next(shape, &place);
    }}
}}"""


def _written(view: NodeView) -> tuple[int, ...]:
    """Returns the indices of the inputs that are written to scratch in pieces, the same for all bands of a layer."""
    whole = view.layer.whole if view.layer else view
    (first, second), (output,) = whole.inputs, whole.outputs
    smaller = tuple(place for place, tensor in enumerate(whole.inputs) if tensor.dims != output.dims)
    return () if not smaller or _shares_rows(broadcast(first, second, output)) else smaller


def _shares_rows(shape: Struct) -> bool:
    fields = shape.fields
    return (fields["first_step"], fields["second_step"]) == (1, 1) and fields["length"] >= SHORTEST


def _pieces(name: str, row: str, written: tuple[int, ...]) -> str:
    """Returns the C text of the function. An operand that is not written to scratch has all of the output's elements, in its
    order."""
    inputs = ("first", "second")
    rooms = {inputs[index]: "pieces" if index == written[0] else "(pieces + AIDGE_KIT_BROADCAST_ROOM)" for index in written}
    writes = "\n".join(
        f"""\
                aidge_kit_broadcast_write({part} + place.{part}, shape->{part}_step, {room} + filled, count);"""
        for part, room in rooms.items()
    )
    repeats = "\n".join(
        f"""\
            if (shape->{part}_step == 0) {{
                aidge_kit_broadcast_write(a_{part}, 0, {room}, room);
                a_{part} = {room};
            }}"""
        for part, room in rooms.items()
    )
    operands = ", ".join(rooms.get(part, f"{part} + done") for part in inputs)
    return f"""/* The same with broadcasting, in pieces: of several short rows, or of a long one. */
static void {name}(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, void *scratch,
    const aidge_kit_broadcast_shape *shape)
{{
    int8_t *const pieces = (int8_t *)scratch;
    aidge_kit_broadcast_place place = {{{{0, 0, 0, 0}}, 0, 0}};
    int32_t left = shape->runs, done = 0;
    while (left > 0) {{
        int32_t count = shape->length;
        if (2 * count <= AIDGE_KIT_BROADCAST_ROOM) {{
            int32_t filled = 0;
            do {{
{writes}
                filled += count;
                left--;
                aidge_kit_broadcast_next(shape, &place);
            }} while ((left > 0) && (filled + count <= AIDGE_KIT_BROADCAST_ROOM));
            {row}({operands}, output + done, numbers, filled);
            done += filled;
        }} else {{
            const int32_t room = count < AIDGE_KIT_BROADCAST_ROOM ? count : AIDGE_KIT_BROADCAST_ROOM;
            const int8_t *a_first = first + place.first, *a_second = second + place.second;
{repeats}
            for (; count > 0; count -= room) {{
                const int32_t piece = count < room ? count : room;
                {row}(a_first, a_second, output + done, numbers, piece);
                a_first += shape->first_step * piece;
                a_second += shape->second_step * piece;
                done += piece;
            }}
            left--;
            aidge_kit_broadcast_next(shape, &place);
        }}
    }}
}}"""


def _unlike(view: NodeView) -> str:
    (first, second), (output,) = view.inputs, view.outputs
    if first.is_constant and second.is_constant:
        return "both inputs are constant"
    return "" if first.dims == second.dims == output.dims else f"dims {list(first.dims)} and {list(second.dims)} differ"


def has_fewer_axes(view: NodeView) -> bool:
    """Whether a computed tensor has fewer axes than the output: the two storage orders then name the same axes only if both are
    row-major."""
    return any(not tensor.is_constant and tensor.rank != view.outputs[0].rank for tensor in view.inputs)


def _repeats_in(formats: Callable[[int], Format]) -> Callable[[NodeView], str]:
    """Returns a function: why two tensors in these formats are not broadcast by loops around rows."""

    def not_by_loops(view: NodeView) -> str:
        tensors = (*view.inputs, *view.outputs)
        if not _unlike(view):
            return "nothing is repeated"
        if formats is channels_last and has_fewer_axes(view):
            return "a computed tensor has fewer axes than the output"
        try:
            broadcast(*(tensor.with_(format=formats(tensor.rank)) for tensor in tensors))
        except AidgeError as error:
            return error.what
        return ""

    return not_by_loops


def rows_specs(features: frozenset[str], *predicates: Predicate, rounding: str = "any") -> tuple[ImplSpec, ...]:
    """Returns the specs of int8 operations: tensors of the same dims in any format, and tensors that repeat, with channels last
    and row-major. Their constants are proved on all pairs of stored values, so every contract accepts them."""
    return specs_of(_SHAPES, features, *predicates, rounding=rounding)


def specs_of(
    shapes: Mapping[DFormat, Predicate], features: frozenset[str], *predicates: Predicate, rounding: str = "any"
) -> tuple[ImplSpec, ...]:
    """Returns the specs of int8 operations in these formats, each with its condition on the dims."""
    return tuple(
        ImplSpec(
            (IOSpec(DType.int8, form), IOSpec(DType.int8, form)),
            (IOSpec(DType.int8, form),),
            features=features,
            predicates=(ALL_QUANTIZED, shape, *predicates),
            rounding=rounding,
        )
        for form, shape in shapes.items()
    )


_SHAPES = {
    SAME: Predicate("tensors of the same dims", _unlike),
    CHANNELS_LAST: Predicate("a tensor repeats, with channels last", _repeats_in(channels_last)),
    ROW_MAJOR: Predicate("a tensor repeats", _repeats_in(row_major)),
}


class ProductInt8(RowsInt8):
    """A product by one float32 multiplier."""

    def multiplier(self):
        """Returns the multiplier, float32; None if none is proved."""
        low, high, _ = self.bounds()
        quantizations = [tensor.quantization for tensor in (*self.inputs, *self.outputs)]
        return float_product(*quantizations, (low, high), self.meaning())


def _shifts_little(view: NodeView) -> str:
    shift = product_factor(view.inputs, view.outputs[0])[1]
    return "" if shift < 0 else "the factor is 0.5 or more"


def _unproved(view: NodeView) -> str:
    return "" if ProductInt8(view).multiplier() is not None else "no float32 multiplier is proved for all pairs of values"


SMALL_FACTOR = Predicate("a factor below 0.5", _shifts_little)  # quantized values then fit 16 bits
PROVED_PRODUCT = Predicate("the product in float32 is proved on all 65,536 pairs", _unproved)
