# SPDX-License-Identifier: MIT
"""Operations on two int8 tensors, one of which repeats: it is written to scratch as often as its values are few. If both
repeat, loops around rows as of other cores."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Constant, Scratch, Struct
from aidge_build.contract.kernel_kit.broadcast import merged_loops
from aidge_build.contract.kernel_kit.rows_int8 import PIECES, RowsInt8, has_fewer_axes, specs_of
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME, Demands, DFormat, ImplSpec, NodeView, Predicate
from aidge_build.graph.format import channels_last, row_major
from aidge_build.graph.tensor import Tensor

from .conditions import MVE

ROOM = 256  # AIDGE_HELIUM_REPEATED
OUTER_AXES = 3


class RepeatsInt8(RowsInt8):
    """An operation whose function takes (first, second, output, numbers, count)."""

    rows = PIECES

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        wanted = super().demands(view)
        return wanted if _alike(view) or _both(view) else replace(wanted, scratch_bytes=ROOM)

    def by_rows(self, row: str, source: str, numbers: Constant, text: str, **said) -> Call:
        """The call of `row`, or of a function that calls it for pieces of the larger tensor."""
        pointers, (output,) = self.pointers(), self.outputs
        if _alike(self.view) or _both(self.view):
            return super().by_rows(row, source, numbers, text, **said)
        part = _part(self.view)
        name = f"{row}_repeats_{('first', 'second')[part]}"
        *outer, (count, counted), (length, inner) = merged_loops((self.inputs[part],), output, OUTER_AXES + 1)
        fields = {
            "dims": tuple(size for size, _ in outer),
            "steps": tuple(step for _, step in outer),
            "count": count,
            "length": length,
            "spreads": int(inner == 0),
        }
        assert inner == 1 - fields["spreads"] and counted in (0, 1)
        arguments = (*pointers, numbers, Scratch(), Struct("aidge_helium_repeats_shape", fields))
        return Call(name, (source, "core/repeats.h"), arguments, texts=(text, _text(name, row, part)), **said)


def _text(name: str, row: str, part: int) -> str:
    whole = "second" if part == 0 else "first"
    pair = "some, whole" if part == 0 else "whole, some"
    return f"""/* The same where one tensor repeats. */
static void {name}(const int8_t *first, const int8_t *second, int8_t *output, const int32_t *numbers, void *scratch,
    const aidge_helium_repeats_shape *shape)
{{
    const int8_t *whole = {whole};
    int32_t index[3] = {{0, 0, 0}};
    int32_t place = 0, most = 1;
    if (2 * shape->length <= AIDGE_HELIUM_REPEATED) {{
        most = aidge_kit_divide(AIDGE_HELIUM_REPEATED, shape->length);
    }}
    do {{
        const int8_t *part = {("first", "second")[part]} + place;
        int32_t left, pieces, bytes;
        for (left = shape->count; left > 0; left -= pieces) {{
            const int8_t *some = (const int8_t *)scratch;
            pieces = left < most ? left : most;
            bytes = pieces * shape->length;
            if (shape->spreads != 0) {{
                const int32_t room = bytes < AIDGE_HELIUM_REPEATED ? bytes : AIDGE_HELIUM_REPEATED;
                aidge_helium_repeat((int8_t *)scratch, part, bytes == room ? pieces : 0, shape);
                if (bytes != room) {{
                    aidge_helium_fill((int8_t *)scratch, *part, room);
                }}
                part += pieces;
                for (; bytes > room; bytes -= room) {{
                    {row}({pair}, output, numbers, room);
                    whole += room;
                    output += room;
                }}
            }} else if (most == 1) {{
                some = part;
            }} else if (left == shape->count) {{
                aidge_helium_repeat((int8_t *)scratch, part, pieces, shape);
            }} else {{
                /* the scratch holds it, from the piece before */
            }}
            {row}({pair}, output, numbers, bytes);
            whole += bytes;
            output += bytes;
        }}
        place = aidge_helium_next_part(index, shape);
    }} while (place >= 0);
}}"""


def _alike(view: NodeView) -> bool:
    return all(tensor.dims == view.outputs[0].dims for tensor in view.inputs)


def _both(view: NodeView) -> bool:
    return view.outputs[0].dims not in [tensor.dims for tensor in view.inputs]


def _part(view: NodeView) -> int:
    """The input that repeats."""
    return 0 if view.inputs[1].dims == view.outputs[0].dims else 1


def _smaller(view: NodeView) -> list[Tensor]:
    return [tensor for tensor in view.inputs if tensor.dims != view.outputs[0].dims]


def _in(form: DFormat):
    def not_one(view: NodeView) -> str:
        (first, second), (output,) = view.inputs, view.outputs
        if first.is_constant and second.is_constant:
            return "both inputs are constant"
        if _alike(view):
            return "nothing is repeated"
        if form is CHANNELS_LAST and has_fewer_axes(view):
            return "a computed tensor has fewer axes than the output"
        make = channels_last if form is CHANNELS_LAST else row_major
        parts, whole = _smaller(view), output.with_(format=make(output.rank))
        loops = merged_loops([part.with_(format=make(part.rank)) for part in parts], whole, whole.rank)
        return "" if len([size for size, *_ in loops if size != 1]) <= OUTER_AXES + 2 else "there are too many axes"

    return not_one


def _unlike(view: NodeView) -> str:
    (first, second), (output,) = view.inputs, view.outputs
    if first.is_constant and second.is_constant:
        return "both inputs are constant"
    return "" if _alike(view) else f"dims {list(first.dims)} and {list(second.dims)} differ from {list(output.dims)}"


_SHAPES = {
    SAME: Predicate("tensors of the same dims", _unlike),
    CHANNELS_LAST: Predicate("a tensor repeats, with channels last", _in(CHANNELS_LAST)),
    ROW_MAJOR: Predicate("a tensor repeats", _in(ROW_MAJOR)),
}


def repeats_specs(*predicates: Predicate, rounding: str = "any") -> tuple[ImplSpec, ...]:
    """As `rows_specs` of kernel_kit/rows_int8.py, whatever the length of rows."""
    return specs_of(_SHAPES, MVE, *predicates, rounding=rounding)
