# SPDX-License-Identifier: MIT
"""The copy of a tensor of bytes or words to any other storage order: runs of elements that are equally far apart."""

from __future__ import annotations

from aidge_build.contract.call import Call, Input, Output, Struct, computed
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import Format, layout

from .conditions import MVE
from .reformat import MOST_CHANNELS

OUTER_LOOPS = 4
SHORTEST_RUN = 8  # elements; shorter ones are not worth a call


def loops_of(view: NodeView) -> list[tuple[int, int]]:
    """(Elements, step in the input) of the loops over the output, the slowest first; neighbours that go on alike are one."""
    return _loops(view, view.inputs[0].storage, view.outputs[0].storage)


def _loops(view: NodeView, read: Format, written: Format) -> list[tuple[int, int]]:
    (source,), (target,) = view.inputs, view.outputs
    strides = layout(source.dims, read, source.dtype).strides
    found: list[tuple[int, int]] = []
    for axis in written.order:
        size, step = target.dims[axis], strides[axis]
        if size == 1:
            continue
        if found and found[-1][1] == size * step:
            found[-1] = found[-1][0] * size, step
        else:
            found.append((size, step))
    return found or [(1, 1)]


def _other_runs(view: NodeView) -> str:
    (source,), (target,) = view.inputs, view.outputs
    ways = [_loops(view, read, written) for read in source.orders for written in target.orders]
    outer, step = max(map(len, ways)) - 1, max(loops[-1][1] for loops in ways)
    if outer > OUTER_LOOPS:
        return f"{outer} loops around a run, at most {OUTER_LOOPS}"
    if all(loops[-1][0] < SHORTEST_RUN for loops in ways):
        return f"runs of {max(loops[-1][0] for loops in ways)}, wants at least {SHORTEST_RUN}"
    return f"elements {step} apart" if step > MOST_CHANNELS else ""


def _spec(dtype: DType) -> ImplSpec:
    return ImplSpec(
        inputs=(IOSpec(dtype, ANY),),
        outputs=(IOSpec(dtype, ANY),),
        features=MVE,
        predicates=(Predicate("runs of elements that are equally far apart", _other_runs),),
    )


class _Reorder(KernelNode):
    def call(self) -> Call:
        *outer, (length, step) = loops_of(self.view)
        loops = [(1, 0)] * (OUTER_LOOPS - len(outer)) + outer
        dims, steps = zip(*loops)
        kind = "bytes" if self.inputs[0].dtype.size_bytes == 1 else "words"
        return Call(
            f"aidge_helium_reorder_{kind}",
            (f"reorder_{kind}.h",),
            (
                Input(0),
                Output(0),
                Struct("aidge_helium_reordered", {"dims": dims, "steps": steps, "length": length, "step": step}),
            ),
            facts=computed("4 values" if kind == "words" else "8 values"),
        )


@kernel("Reformat", _spec(DType.int8))
class ReorderInt8(_Reorder):
    pass


@kernel("Reformat", _spec(DType.uint8))
class ReorderUint8(_Reorder):
    pass


@kernel("Reformat", _spec(DType.float32))
class ReorderFloat32(_Reorder):
    pass
