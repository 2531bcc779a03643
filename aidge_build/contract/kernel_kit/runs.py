# SPDX-License-Identifier: MIT
"""Copies in which every axis of the target has a list of places in the source, as rows of runs of neighbouring bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from aidge_build.contract.call import Argument, Call, Constant, Input, Output, Struct
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.node import KernelNode
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

OUTER_AXES = 5
FILL = -1  # a place that gets the fill
ROWS = 2  # the axis that bands divide: a band has some of its positions


def _rank(view: NodeView) -> str:
    return "" if view.outputs[0].rank <= OUTER_AXES + 1 else f"the rank is {view.outputs[0].rank}"


FEW_AXES = Predicate(f"at most {OUTER_AXES + 1} axes", _rank)


def runs_spec(dtype: DType, *predicates: Predicate, features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns the spec of elements of this type in any storage order, the same on both sides; no stored value changes."""
    return ImplSpec(IOSpec(dtype, SAME), predicates=(SAME_QUANTIZATION, FEW_AXES, *predicates), features=features)


def unchanged(dtype: DType, *predicates: Predicate, features: frozenset[str] = frozenset()) -> ImplSpec:
    """Returns `runs_spec` for operators that change no stored value."""
    return runs_spec(dtype, SAME_QUANTIZATION, *predicates, features=features)


@dataclass(frozen=True)
class Copying:
    """The functions with which a library copies: its file `source` defines `copy`(to, from, bytes) and `fill`(to, element, bytes,
    element_bytes), and includes kit/runs.h."""

    function: str
    source: str
    copy: str
    fill: str

    def call(self, node: KernelNode, places: Sequence[numpy.ndarray], fill: Argument = Input(0)) -> Call:
        """Returns the call. `places`: for each axis the index in the source for each index in the target, or FILL: the element at
        `fill`. A band passes the places of its rows as an argument."""
        layer = node.view.layer
        segments, offsets, fields = runs(node.inputs[0], node.outputs[0], places, layer is not None)
        function, structs = self.function, [Struct("aidge_kit_runs_shape", fields)]
        if layer:
            function = f"{self.function}_of_bands_of_{layer.rows}"
            count = fields["dims"][-1]
            of_rows, offsets = offsets[-count:].tolist(), offsets[:-count]
            structs.append(Struct(f"{function}_rows", {"offsets": (*of_rows, *(0,) * (layer.rows - count))}))
        arguments = (Input(0), Output(0), fill, Constant("segments", segments), Constant("offsets", offsets), *structs)
        return Call(function, (self.source,), arguments, texts=(self._text(function, layer.rows if layer else 0),))

    def _text(self, function: str, rows_of_band: int) -> str:
        type_, parameter = "", ""
        last = "offsets + shape->dims[0] + shape->dims[1] + shape->dims[2] + shape->dims[3]"
        if rows_of_band:
            type_ = f"typedef struct {{\n    int32_t offsets[{rows_of_band}];\n}} {function}_rows;\n\n"
            parameter, last = f", const {function}_rows *rows_of_band", "rows_of_band->offsets"
        return f"""{type_}/* Row by row; one from the place of the row before it is a copy of that row. */
static void {function}(const void *source, void *target, const void *fill, const int32_t *segments, const int32_t *offsets,
    const aidge_kit_runs_shape *shape{parameter})
{{
    const int32_t *const last = {last};
    const int32_t row_bytes = shape->row_bytes;
    uint8_t *to = (uint8_t *)target;
    int32_t index[4] = {{0, 0, 0, 0}};
    int32_t rows = 0, before = -1;
    int32_t row, i;
    {self.fill}(to, (const uint8_t *)fill, shape->fill_bytes, shape->element_bytes);
    while (aidge_kit_next_rows(index, &rows, offsets, shape) != 0) {{
        for (row = 0; row < shape->dims[4]; row++) {{
            const int32_t place = (rows < 0) || (last[row] < 0) ? -1 : rows + last[row];
            if (place < 0) {{
                to += row_bytes;
            }} else if (place == before) {{
                {self.copy}(to, to - row_bytes, row_bytes);
                to += row_bytes;
            }} else {{
                for (i = 0; i < shape->segments; i++) {{
                    const int32_t first = segments[2 * i];
                    const int32_t bytes = segments[2 * i + 1];
                    if (first >= 0) {{
                        {self.copy}(to, (const uint8_t *)source + place + first, bytes);
                    }}
                    to += bytes;
                }}
            }}
            before = place;
        }}
    }}
}}"""


def has_rows(view: NodeView, places: Sequence[numpy.ndarray]) -> bool:
    """Whether axis 2 is the axis of rows, or may be, and there is one image only."""
    (target,) = view.outputs
    axes = _outer(view.inputs[0], target, places, True)
    return ROWS in axes[-2:] and all(target.dims[axis] == 1 for axis in axes[: axes.index(ROWS)])


def runs(
    source: Tensor, target: Tensor, places: Sequence[numpy.ndarray], of_band: bool = False
) -> tuple[numpy.ndarray, numpy.ndarray, dict]:
    """Returns segments of a row [count, 2], offsets of rows, and the fields of the struct, all in bytes, as runs.h describes
    them.

    Innermost axes that are copied unchanged belong to a run; the next axis is a row, and neighbouring runs of a row become one
    run. The rows of a band are positions on axis 2 (`has_rows`).
    """
    axes, size = _outer(source, target, places, of_band), target.dtype.size_bytes
    run = size * math.prod(target.dims[axis] for axis in target.storage.order[len(axes) :])
    row = numpy.zeros(1, numpy.int64) if of_band and axes[-1] == ROWS else places[axes.pop()]
    segments = _segments(row, run) if target.elements else []
    steps = [size * stride for stride in source.layout.strides] if source.elements else [0] * source.rank
    lists = [numpy.where(places[axis] == FILL, FILL, places[axis] * steps[axis]) for axis in axes]
    lists = [numpy.zeros(1, numpy.int64)] * (OUTER_AXES - len(lists)) + lists
    filled = any(FILL in places_of for places_of in places)
    fields = {
        "element_bytes": size,
        "fill_bytes": target.size_bytes if filled else 0,
        "row_bytes": sum(length for _, length in segments),
        "segments": len(segments),
        "dims": tuple(len(one) if target.elements else 1 for one in lists),
    }
    return (numpy.array(segments or [(0, 0)], numpy.int32), numpy.concatenate(lists).astype(numpy.int32), fields)


def _outer(source: Tensor, target: Tensor, places: Sequence[numpy.ndarray], of_band: bool) -> list[int]:
    """Returns the axes without the innermost ones that are copied unchanged; for a band, only axes inside of axis 2 are left
    out."""
    axes = list(target.storage.order)
    while len(axes) > 1 and not (of_band and axes[-1] == ROWS) and _whole(places[axes[-1]], source.dims[axes[-1]]):
        axes.pop()
    return axes


def _whole(places: numpy.ndarray, size: int) -> bool:
    return len(places) == size and numpy.array_equal(places, numpy.arange(size))


def _segments(places: numpy.ndarray, run: int) -> list[tuple[int, int]]:
    """Returns (first byte or FILL, bytes) of neighbours along the target that are neighbours in the source, or filled."""
    found: list[tuple[int, int]] = []
    for place in places.tolist():
        first, length = found[-1] if found else (None, 0)
        if found and (first == place == FILL or first != FILL != place and first + length == place * run):
            found[-1] = first, length + run
        else:
            found.append((FILL if place == FILL else place * run, run))
    return found
