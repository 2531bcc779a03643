# SPDX-License-Identifier: MIT
"""float32 Resize by weighted sums: the channels in the lanes."""

from __future__ import annotations

import math

import numpy

from aidge_build.contract.call import Call, Constant, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import REAL
from aidge_build.contract.kernel_kit.moves import weighted
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import CHANNELS_LAST, Demands, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType

from ..core.assembly import Assembler, c_function, function
from ..core.conditions import MVE

MOST_TAPS, MOST_ROWS, MOST_AXES = 16, 8, 5  # of one output: elements, rows that they are in
TOGETHER = 4  # pixels whose addresses and weights stay in registers
FLOAT = IOSpec(DType.float32, CHANNELS_LAST)


def _taps(view: NodeView) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    """The taps of each axis."""
    return [view.operator.taps(axis, size) for axis, size in enumerate(view.inputs[0].dims)]


def _other_sums(view: NodeView) -> str:
    data = view.inputs[0]
    if not 3 <= data.rank <= MOST_AXES or not weighted(view):
        return f"the rank is {data.rank}" if weighted(view) else "it is a copy"
    if any(view.operator.changes(axis, data.dims[axis]) for axis in (0, 1)):
        return "images or channels are resized"
    taps = _taps(view)
    if any((indices < 0).any() for indices, _ in taps):
        return "places outside get a value of their own"
    rows = math.prod(factors.shape[1] for _, factors in taps[:-1])
    count = rows * taps[-1][1].shape[1]
    if count <= MOST_TAPS and rows <= MOST_ROWS:
        return ""
    return f"{count} elements of {rows} rows for each output, at most {MOST_TAPS} of {MOST_ROWS}"


@kernel(
    "Resize",
    ImplSpec(
        FLOAT,
        features=MVE,
        predicates=(REAL, Predicate(f"weighted sums of at most {MOST_TAPS} pixels of {MOST_ROWS} rows", _other_sums)),
    ),
)
class ResampleFloat32(KernelNode):
    @classmethod
    def demands(cls, view: NodeView) -> Demands:
        return Demands(bands=False)  # the tables follow from the rows

    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        taps, steps = _taps(self.view), source.layout.strides
        axes = [0, *range(2, source.rank)]
        missing = MOST_AXES - source.rank
        offsets = [(taps[axis][0] * steps[axis]).ravel() for axis in axes]
        weights = [taps[axis][1].ravel() for axis in axes]

        def whole(lists: list[numpy.ndarray], missing_one: int) -> numpy.ndarray:
            return numpy.concatenate([lists[0], numpy.full(missing, missing_one), *lists[1:]])

        shape = {
            "dims": (target.dims[0], *(1,) * missing, *target.dims[2:]),
            "taps": (1, *(1,) * missing, *(taps[axis][1].shape[1] for axis in axes[1:])),
            "run": target.dims[1],
        }
        rows, columns = math.prod(shape["taps"][:-1]), shape["taps"][-1]
        return Call(
            f"aidge_helium_resample_float32_{rows}x{columns}",
            ("float32/resample.h",),
            (
                Input(0),
                Output(0),
                Constant("offsets", whole(offsets, 0).astype(numpy.int32)),
                Constant("weights", whole(weights, 1).astype(numpy.float32)),
                Struct("aidge_helium_resample_shape", shape),
            ),
            texts=(_weighted_text(rows * columns), _layer_text(rows, columns)),
            facts=computed("4 channels"),
        )


def _weighted_text(count: int) -> str:
    """The weighted sums of pixels; products are rounded before they are added, as the numpy meaning does it."""
    emit = Assembler()
    emit("%enter")
    for first in range(0, count, TOGETHER):
        taps = range(min(TOGETHER, count - first))
        emit(f"ldm %pixels!, {{{', '.join(f'%pixel{tap}' for tap in taps)}}}")
        emit(f"ldm %weights!, {{{', '.join(f'%weight{tap}' for tap in taps)}}}")
        emit("mov %to, %y", f"wlstp.32 lr, %run, %done{first}")
        emit.label(f"turn{first}")
        if first:
            emit("vldrw.u32 %q.sum, [%to]")
        for tap in taps:
            value = "%q.value" if first + tap else "%q.sum"
            emit(f"vldrw.u32 {value}, [%pixel{tap}], #16", f"vmul.f32 {value}, {value}, %weight{tap}")
            emit(*(["vadd.f32 %q.sum, %q.sum, %q.value"] if first + tap else []))
        emit("vstrw.32 %q.sum, [%to], #16", f"letp lr, %turn{first}")
        emit.label(f"done{first}")
    emit("%leave")
    parameters = "float *y, const float *const *pixels, const float *weights, int32_t run"
    return function(f"aidge_helium_weighted_{count}", "y = the weighted sum of pixels.", parameters, emit.lines)


def _layer_text(rows: int, columns: int) -> str:
    count = rows * columns
    return c_function(
        f"aidge_helium_resample_float32_{rows}x{columns}",
        "const float *input, float *output, const int32_t *offsets, const float *weights, "
        "const aidge_helium_resample_shape *shape",
        [
            "int32_t above, column, row, tap;",
            "for (above = 0; above < shape->dims[0] * shape->dims[1] * shape->dims[2]; above++) {",
            f"    const float *begins[{rows}], *pixels[{count}];",
            f"    float factors[{rows}], products[{count}];",
            "    int32_t at = aidge_helium_resample_rows(begins, factors, input, above, offsets, weights, shape);",
            "    for (column = 0; column < shape->dims[3]; column++) {",
            f"        for (row = 0; row < {rows}; row++) {{",
            f"            for (tap = 0; tap < {columns}; tap++) {{",
            f"                pixels[{columns} * row + tap] = begins[row] + offsets[at + tap];",
            f"                products[{columns} * row + tap] = factors[row] * weights[at + tap];",
            "            }",
            "        }",
            f"        aidge_helium_weighted_{count}(output, pixels, products, shape->run);",
            "        output += shape->run;",
            f"        at += {columns};",
            "    }",
            "}",
        ],
    )
