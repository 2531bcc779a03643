# SPDX-License-Identifier: MIT
"""The copy of a tensor of bytes or words to another storage order."""

from __future__ import annotations

from collections.abc import Iterator

from aidge_build.contract.node import kernel
from aidge_build.contract.spec import ANY, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, channels_last, layout, row_major

from ..core.conditions import MVE
from .strided import ELEMENTS, Loop, StridedNode, merged, refused

SHORTEST_RUN = 8  # elements; shorter ones are not worth a call, except between planes of channels and pixels


def _loops(view: NodeView, read: Format, written: Format) -> list[Loop]:
    (source,), (target,) = view.inputs, view.outputs
    steps = layout(source.dims, read, source.dtype).strides, layout(target.dims, written, target.dtype).strides
    return merged([Loop(*numbers) for numbers in zip(target.dims, *steps)])


def _ways(view: NodeView) -> Iterator[list[Loop]]:
    """The loops of all orders that the tensors may get."""
    for read in view.inputs[0].orders:
        yield from (_loops(view, read, written) for written in view.outputs[0].orders)


def _other_runs(view: NodeView) -> str:
    ways = [*_ways(view)]
    reason = next(filter(None, map(refused, ways)), "")
    (source,), (target,) = view.inputs, view.outputs
    known = {*source.orders, *target.orders} == {row_major(source.rank), channels_last(source.rank)} and len(ways) == 1
    if not reason and not known and all(loop.size < SHORTEST_RUN for loops in ways for loop in loops):
        return f"runs of less than {SHORTEST_RUN}"
    return reason


RUNS = Predicate("runs of elements that are equally far apart", _other_runs)


@kernel("Reformat", ImplSpec(IOSpec(DType.any_1, ANY), predicates=(ELEMENTS, RUNS), features=MVE))
class Reformat(StridedNode):
    @staticmethod
    def loops(view: NodeView) -> tuple[int, list[Loop]]:
        return 0, _loops(view, view.inputs[0].storage, view.outputs[0].storage)
