# SPDX-License-Identifier: MIT
"""Copies with other steps on both sides, as runs of elements that are equally far apart: Slice, DepthToSpace, SpaceToDepth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aidge_build.contract.call import Call, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.moves import block_axes
from aidge_build.contract.kernel_kit.orders import in_each_order
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import layout

from .conditions import MVE
from .reformat import MOST_CHANNELS

OUTER_LOOPS = 4


@dataclass(frozen=True)
class Loop:
    """How many elements, and how far they are apart on both sides, in elements."""

    size: int
    source: int
    target: int


def merged(loops: Sequence[Loop]) -> list[Loop]:
    """Those of more than one element, the slowest in the target first; neighbours that go on alike on both sides are one."""
    found: list[Loop] = []
    for loop in sorted((loop for loop in loops if loop.size > 1), key=lambda loop: -loop.target):
        last = found[-1] if found else Loop(1, 0, 0)
        if found and last.source == loop.size * loop.source and last.target == loop.size * loop.target:
            found[-1] = Loop(last.size * loop.size, loop.source, loop.target)
        else:
            found.append(loop)
    return found or [Loop(1, 1, 1)]


def run_of(loops: Sequence[Loop]) -> Loop | None:
    """The loop that takes the fewest instructions as a run, of those within reach of a gather and a scatter."""
    near = [loop for loop in loops if 1 <= min(loop.source, loop.target) and max(loop.source, loop.target) <= MOST_CHANNELS]
    return min(near, key=lambda loop: (_instructions(loop) / loop.size, -loop.target), default=None)


def _instructions(run: Loop) -> int:
    """Of a run of bytes, nearly."""
    steps = sorted((run.source, run.target))
    if steps == [1, 1]:
        return 14 + 3 * -(-run.size // 16)
    return 18 + (4 if steps[0] == 1 else 5) * -(-run.size // (16 if steps[0] == 1 and steps[1] <= 17 else 8))


class StridedNode(KernelNode):
    """Base: what moves where."""

    @classmethod
    def loops(cls, view: NodeView) -> tuple[int, list[Loop]]:
        """Where the first element lies in the source, and the loops."""
        raise NotImplementedError

    def call(self) -> Call:
        start, loops = type(self).loops(self.view)
        run = run_of(loops)
        assert run is not None
        outer = [loop for loop in loops if loop is not run]
        outer = [Loop(1, 0, 0)] * (OUTER_LOOPS - len(outer)) + outer
        kind = "bytes" if self.inputs[0].dtype.size_bytes == 1 else "words"
        fields = {
            "start": start,
            "dims": tuple(loop.size for loop in outer),
            "source_steps": tuple(loop.source for loop in outer),
            "target_steps": tuple(loop.target for loop in outer),
            "run": (run.size, run.source, run.target),
        }
        return Call(
            f"aidge_helium_move_{kind}",
            (f"moved_{kind}.h",),
            (Input(0), Output(0), Struct("aidge_helium_moved", fields)),
            facts=computed("4 values" if kind == "words" else "8 values"),
        )


class _Slice(StridedNode):
    @classmethod
    def loops(cls, view: NodeView) -> tuple[int, list[Loop]]:
        (source,), (target,), operator = view.inputs, view.outputs, view.operator
        strides = layout(source.dims, target.storage, source.dtype).strides
        start = sum(first * stride for first, stride in zip(operator.starts, strides))
        steps = [step * stride for step, stride in zip(operator.steps, strides)]
        return start, merged([Loop(*numbers) for numbers in zip(target.dims, steps, target.layout.strides)])


class _Blocks(StridedNode):
    @classmethod
    def loops(cls, view: NodeView) -> tuple[int, list[Loop]]:
        return 0, merged([Loop(*numbers) for numbers in zip(*block_axes(view))])


def _spec(node: type[StridedNode], dtype: DType) -> ImplSpec:
    def refused(view: NodeView) -> str:
        if 0 in view.outputs[0].dims:
            return "no elements"
        for stored in in_each_order(view):
            _, loops = node.loops(stored)
            if run_of(loops) is None:
                return "no axis with elements within reach of a gather"
            if len(loops) - 1 > OUTER_LOOPS:
                return f"{len(loops) - 1} loops around a run, at most {OUTER_LOOPS}"
        return ""

    runs = Predicate("runs of elements that are equally far apart", refused)
    return ImplSpec((IOSpec(dtype, SAME),), (IOSpec(dtype, SAME),), (SAME_QUANTIZATION, runs), MVE)


@kernel("Slice", _spec(_Slice, DType.int8))
class SliceInt8(_Slice):
    pass


@kernel("Slice", _spec(_Slice, DType.uint8))
class SliceUint8(_Slice):
    pass


@kernel("Slice", _spec(_Slice, DType.float32))
class SliceFloat32(_Slice):
    pass


@kernel(("DepthToSpace", "SpaceToDepth"), _spec(_Blocks, DType.int8))
class BlocksInt8(_Blocks):
    pass


@kernel(("DepthToSpace", "SpaceToDepth"), _spec(_Blocks, DType.uint8))
class BlocksUint8(_Blocks):
    pass


@kernel(("DepthToSpace", "SpaceToDepth"), _spec(_Blocks, DType.float32))
class BlocksFloat32(_Blocks):
    pass
