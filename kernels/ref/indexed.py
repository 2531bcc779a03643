# SPDX-License-Identifier: MIT
"""Copies in which every axis of the target has a list of places in the source: Pad in any mode, Tile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from aidge_build.backend.spec import ROW_MAJOR, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.export.call import Argument, Constant, Input, Output, Call, Struct
from aidge_build.export.node import ExportNode, kernel
from aidge_build.graph.dtype import DType
from aidge_build.graph.tensor import Tensor

from .conditions import REAL, SAME_QUANTIZATION

AXES = 6


def _rank(view: NodeView) -> str:
    return "" if view.outputs[0].rank <= AXES else f"the rank is {view.outputs[0].rank}"


FEW_AXES = Predicate(f"at most {AXES} axes", _rank)


def indexed_copy(source: Tensor, target: Tensor, places: Sequence[numpy.ndarray], fill: Argument) -> Call:
    """`places`: for each axis the index in the source for each index in the target, -1 for the fill."""
    lists = [numpy.where(place < 0, -1, place * step) for place, step in zip(places, source.layout.strides)]
    offsets = numpy.concatenate([*[numpy.zeros(1, numpy.int64)] * (AXES - len(lists)), *lists]).astype(numpy.int32)
    shape = Struct("aidge_ref_indexed_copy_shape", {"element_bytes": target.dtype.size_bytes,
                                                    "dims": (*(1,) * (AXES - target.rank), *target.dims)})
    return Call("aidge_ref_indexed_copy", ("indexed_copy.h",), (Input(0), Output(0), fill, Constant("offsets", offsets), shape))


def _places(operator, size: int, axis: int) -> numpy.ndarray:
    """Where the elements of one axis of a Pad come from."""
    begin, end = operator.pads_begin[axis], operator.pads_end[axis]
    first, last = max(0, -begin), size - max(0, -end)
    given = numpy.arange(first, last)
    mode = {"constant_values": -1} if operator.mode == "constant" else {}
    return numpy.pad(given, (max(0, begin), max(0, end)), operator.mode, **mode)


@kernel("Pad", ImplSpec(inputs=(IOSpec(DType.any_1, ROW_MAJOR),), outputs=(IOSpec(DType.any_1, ROW_MAJOR),),
                        predicates=(SAME_QUANTIZATION, FEW_AXES, Predicate(
                            "pads with elements", lambda view: "pads with a constant" if view.operator.mode == "constant" else ""))))
class PadWithElements(ExportNode):
    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        return indexed_copy(source, target, [_places(self.operator, size, axis) for axis, size in enumerate(source.dims)], Input(0))


@kernel("PadByInput", ImplSpec(inputs=(IOSpec(DType.any_1, ROW_MAJOR),), outputs=(IOSpec(DType.any_1, ROW_MAJOR),),
                               predicates=(REAL, FEW_AXES)))
class PadByInput(ExportNode):
    def call(self) -> Call:
        source, (target,) = self.inputs[0], self.outputs
        return indexed_copy(source, target, [_places(self.operator, size, axis) for axis, size in enumerate(source.dims)], Input(1))


@kernel("Tile", ImplSpec(inputs=(IOSpec(DType.any_1, ROW_MAJOR),), outputs=(IOSpec(DType.any_1, ROW_MAJOR),),
                         predicates=(SAME_QUANTIZATION, FEW_AXES)))
class Tile(ExportNode):
    def call(self) -> Call:
        (source,), (target,) = self.inputs, self.outputs
        places = [numpy.tile(numpy.arange(size), count) for size, count in zip(source.dims, self.operator.repeats)]
        return indexed_copy(source, target, places, Input(0))
