# SPDX-License-Identifier: MIT
"""Copies of bytes or words with other steps on both sides, as runs of elements that are equally far apart: Reformat to any order,
Slice, DepthToSpace, SpaceToDepth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from aidge_build.contract.call import Call, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.moves import block_axes
from aidge_build.contract.kernel_kit.orders import in_each_order
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import ANY, SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import layout

from .conditions import MVE

OUTER_LOOPS = 4
MOST_STEP = 9362  # elements: eight of them are within the 16 bits of an offset
SHORTEST_RUN = 8  # elements of a Reformat; shorter runs are not worth a call


@dataclass(frozen=True)
class Loop:
    """How many elements, and how far they are apart on both sides, in elements."""

    size: int
    source: int
    target: int


def merged(sizes: Sequence[int], source: Sequence[int], target: Sequence[int]) -> list[Loop]:
    """The loops of more than one element, the slowest in the target first; neighbours that go on alike on both sides are one."""
    found: list[Loop] = []
    loops = [Loop(*numbers) for numbers in zip(sizes, source, target) if numbers[0] > 1]
    for loop in sorted(loops, key=lambda loop: -loop.target):
        last = found[-1] if found else Loop(1, 0, 0)
        if found and last.source == loop.size * loop.source and last.target == loop.size * loop.target:
            found[-1] = Loop(last.size * loop.size, loop.source, loop.target)
        else:
            found.append(loop)
    return found or [Loop(1, 1, 1)]


def run_of(loops: Sequence[Loop]) -> Loop | None:
    """The loop that takes the fewest instructions as a run, of those within reach of a gather and a scatter."""
    near = [loop for loop in loops if 1 <= min(loop.source, loop.target) and max(loop.source, loop.target) <= MOST_STEP]
    return min(near, key=lambda loop: (_instructions(loop) / loop.size, -loop.target), default=None)


def _instructions(run: Loop) -> int:
    """About the instructions of a run of bytes."""
    steps = sorted((run.source, run.target))
    if steps == [1, 1]:
        return 14 + 3 * -(-run.size // 16)
    return 18 + (4 if steps[0] == 1 else 5) * -(-run.size // (16 if steps[0] == 1 and steps[1] <= 17 else 8))


def _reformat(view: NodeView) -> tuple[int, list[Loop]]:
    (source,), (target,) = view.inputs, view.outputs
    return 0, merged(target.dims, source.layout.strides, target.layout.strides)


def _slice(view: NodeView) -> tuple[int, list[Loop]]:
    (source,), (target,), operator = view.inputs, view.outputs, view.operator
    strides = layout(source.dims, target.storage, source.dtype).strides
    start = sum(first * stride for first, stride in zip(operator.starts, strides))
    steps = [step * stride for step, stride in zip(operator.steps, strides)]
    return start, merged(target.dims, steps, target.layout.strides)


def _blocks(view: NodeView) -> tuple[int, list[Loop]]:
    return 0, merged(*block_axes(view))


# Of each operator: where the first element is in the source, and the loops.
LOOPS: dict[str, Callable[[NodeView], tuple[int, list[Loop]]]] = {
    "Reformat": _reformat,
    "Slice": _slice,
    "DepthToSpace": _blocks,
    "SpaceToDepth": _blocks,
}


def _in_both_orders(view: NodeView) -> Iterator[NodeView]:
    """The node of a Reformat in each order of its input and output."""
    (source,), (target,) = view.inputs, view.outputs
    for read in source.orders:
        for written in target.orders:
            yield replace(view, inputs=(source.with_(format=read),), outputs=(target.with_(format=written),))


def _refused(view: NodeView) -> str:
    if 0 in view.outputs[0].dims:
        return "no elements"
    is_reformat = view.node.type == "Reformat"
    runs = []
    for stored in (_in_both_orders if is_reformat else in_each_order)(view):
        _, loops = LOOPS[view.node.type](stored)
        run = run_of(loops)
        if run is None:
            return "no axis with elements within reach of a gather"
        if len(loops) - 1 > OUTER_LOOPS:
            return f"{len(loops) - 1} loops around a run, at most {OUTER_LOOPS}"
        runs.append(run.size)
    return f"runs of {max(runs)}, wants at least {SHORTEST_RUN}" if is_reformat and max(runs) < SHORTEST_RUN else ""


RUNS = Predicate("runs of elements that are equally far apart", _refused)


class _Strided(KernelNode):
    def call(self) -> Call:
        start, loops = LOOPS[self.node.type](self.view)
        run = run_of(loops)
        assert run is not None
        outer = [loop for loop in loops if loop is not run]
        outer = [Loop(1, 0, 0)] * (OUTER_LOOPS - len(outer)) + outer
        size = self.inputs[0].dtype.size_bytes
        kind = "runs" if run.source == run.target == 1 else "bytes" if size == 1 else "words"
        fields = {
            "start": size * start,
            "dims": tuple(loop.size for loop in outer),
            "source_steps": tuple(size * loop.source for loop in outer),
            "target_steps": tuple(size * loop.target for loop in outer),
            "length": run.size * (size if kind == "runs" else 1),
            "from_step": run.source,
            "to_step": run.target,
        }
        return Call(
            f"aidge_helium_move_{kind}",
            ("strided.h",),
            (Input(0), Output(0), Struct("aidge_helium_moved", fields)),
            texts=(_TEXT.format(kind=kind, run=_RUNS[kind]),),
            facts=computed("8 values" if size == 1 else "4 values"),
        )


_RUNS = {
    "runs": "aidge_helium_copy(output, from, shape->length);",
    "bytes": "aidge_helium_run_bytes(output, shape->to_step, from, shape->from_step, shape->length);",
    "words": """aidge_helium_run_words((float *)(void *)output, shape->to_step, (const float *)(const void *)from,
                                   shape->from_step, shape->length);""",
}
_TEXT = """/* Elements to other places. */
static void aidge_helium_move_{kind}(const void *source, void *target, const aidge_helium_moved *shape)
{{
    const int8_t *from = (const int8_t *)source + shape->start;
    const int8_t *to = (const int8_t *)target;
    int32_t place[4] = {{0, 0, 0, 0}};
    do {{
        int32_t left = shape->dims[3];
        for (;;) {{
            int8_t *const output = (int8_t *)(uintptr_t)to;
            {run}
            left--;
            if (left == 0) {{
                break;
            }}
            from += shape->source_steps[3];
            to += shape->target_steps[3];
        }}
        place[3] = shape->dims[3] - 1;
    }} while (aidge_kit_next_batch(place, shape->dims, shape->source_steps, shape->target_steps, &from, &to) != 0);
}}"""


_TYPES = (DType.int8, DType.uint8, DType.float32)


def _specs(form: str, *conditions: Predicate) -> list[ImplSpec]:
    return [ImplSpec((IOSpec(dtype, form),), (IOSpec(dtype, form),), (*conditions, RUNS), MVE) for dtype in _TYPES]


@kernel("Reformat", _specs(ANY))
class Reformat(_Strided):
    pass


@kernel(("Slice", "DepthToSpace", "SpaceToDepth"), _specs(SAME, SAME_QUANTIZATION))
class Strided(_Strided):
    pass
