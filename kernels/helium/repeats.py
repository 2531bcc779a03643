# SPDX-License-Identifier: MIT
"""Operations on two int8 tensors of which one repeats: it is written to scratch as often as its values are few."""

from __future__ import annotations

from dataclasses import replace

from aidge_build.contract.call import Call, Constant, Literal, Scratch, Struct
from aidge_build.contract.spec import CHANNELS_LAST, ROW_MAJOR, SAME, Demands, DFormat, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import channels_last, row_major
from aidge_build.kernel_kit.broadcast import merged_loops
from aidge_build.kernel_kit.conditions import ALL_QUANTIZED
from aidge_build.kernel_kit.rows_int8 import RowsInt8

from .conditions import MVE

ROOM = 256  # AIDGE_HELIUM_REPEATED
OUTER_AXES = 3


class RepeatsInt8(RowsInt8):
    """An operation whose function takes (first, second, output, numbers, count)."""

    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return replace(super().demands(view), scratch_bytes=0 if _alike(view) else ROOM)

    def by_rows(self, row: str, source: str, numbers: Constant, text: str, **said) -> Call:
        """The call of `row`, or of a function that calls it for pieces of the larger tensor."""
        pointers, (output,) = self.pointers(), self.outputs
        if _alike(self.view):
            return Call(row, (source,), (*pointers, numbers, Literal(output.elements)), texts=(text,), **said)
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
        return Call(name, (source, "repeats.h"), arguments, texts=(text, _text(name, row, part)), **said)


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


def _part(view: NodeView) -> int:
    """The input that repeats."""
    return 0 if view.inputs[1].dims == view.outputs[0].dims else 1


def _in(form: DFormat):
    def not_one(view: NodeView) -> str:
        (first, second), (output,) = view.inputs, view.outputs
        if first.is_constant and second.is_constant:
            return "both inputs are constant"
        if _alike(view):
            return "nothing is repeated"
        if output.dims not in (first.dims, second.dims):
            return f"dims {list(first.dims)} and {list(second.dims)} both repeat"
        part = view.inputs[_part(view)]
        if not part.is_constant and part.rank != output.rank:
            return "a computed tensor has fewer axes than the output"
        make = channels_last if form is CHANNELS_LAST else row_major
        part, whole = (tensor.with_(format=make(tensor.rank)) for tensor in (part, output))
        return "" if len(_loops(part, whole)) <= OUTER_AXES + 2 else "there are too many axes"

    return not_one


def _loops(part, whole) -> list[list[int]]:
    """All loops but those of size 1."""
    return [loop for loop in merged_loops((part,), whole, whole.rank) if loop[0] != 1]


def _unlike(view: NodeView) -> str:
    (first, second), (output,) = view.inputs, view.outputs
    if first.is_constant and second.is_constant:
        return "both inputs are constant"
    return "" if _alike(view) else f"dims {list(first.dims)} and {list(second.dims)} differ from {list(output.dims)}"


_SHAPES = {
    SAME: Predicate("tensors of the same dims", _unlike),
    CHANNELS_LAST: Predicate("one tensor repeats, with channels last", _in(CHANNELS_LAST)),
    ROW_MAJOR: Predicate("one tensor repeats", _in(ROW_MAJOR)),
}


def repeats_spec(form: DFormat, *predicates: Predicate, rounding: str = "any") -> ImplSpec:
    """As `rows_spec` of kernel_kit/rows_int8.py, whatever the length of rows."""
    sides = (IOSpec(DType.int8, form), IOSpec(DType.int8, form)), (IOSpec(DType.int8, form),)
    return ImplSpec(*sides, features=MVE, predicates=(ALL_QUANTIZED, _SHAPES[form], *predicates), rounding=rounding)
