# SPDX-License-Identifier: MIT
"""Copies with other steps on both sides, as runs of elements that are equally far apart: Slice, DepthToSpace, SpaceToDepth;
reformat.py has another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aidge_build.contract.call import Call, Input, Output, Struct, computed
from aidge_build.contract.kernel_kit.conditions import SAME_QUANTIZATION
from aidge_build.contract.kernel_kit.moves import block_axes
from aidge_build.contract.kernel_kit.orders import in_each_order
from aidge_build.contract.node import KernelNode, kernel
from aidge_build.contract.spec import SAME, ImplSpec, IOSpec, NodeView, Predicate
from aidge_build.graph.dtype import DType
from aidge_build.graph.format import layout

from ..core.assembly import Assembler, function
from ..core.conditions import MVE

OUTER_LOOPS = 4
MOST_CHANNELS = 9362  # that elements of a run are apart: eight of them are within 16 bits


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
    """The instructions of a run of bytes, nearly."""
    steps = sorted((run.source, run.target))
    if steps == [1, 1]:
        return 14 + 3 * -(-run.size // 16)
    return 18 + (4 if steps[0] == 1 else 5) * -(-run.size // (16 if steps[0] == 1 and steps[1] <= 17 else 8))


class StridedNode(KernelNode):
    """Base: what moves where."""

    @staticmethod
    def loops(view: NodeView) -> tuple[int, list[Loop]]:
        """The place of the first element in the source, and the loops."""
        raise NotImplementedError

    def call(self) -> Call:
        start, loops = type(self).loops(self.view)
        run = run_of(loops)
        assert run is not None
        outer = [loop for loop in loops if loop is not run]
        outer = [Loop(1, 0, 0)] * (OUTER_LOOPS - len(outer)) + outer
        fields = {
            "start": start,
            "dims": tuple(loop.size for loop in outer),
            "source_steps": tuple(loop.source for loop in outer),
            "target_steps": tuple(loop.target for loop in outer),
            "run": (run.size, run.source, run.target),
        }
        is_words = self.inputs[0].dtype.size_bytes > 1
        name, texts = _texts(run, is_words)
        return Call(
            name,
            ("values/moved.h",),
            (Input(0), Output(0), Struct("aidge_helium_moved", fields)),
            texts=texts,
            facts=computed("4 values" if is_words else "8 values"),
        )


def _scatter(name: str, kind: str) -> str:
    """The C text of the function for a run by gathers and scatters; run: its length, its steps on both sides."""
    emit = Assembler()
    bits, load, store, offset, shift = (32, "w.u32", "w.32", ", uxtw #2", 4) if kind == "float" else (16, "b.u16", "b.16", "", 3)
    emit("push {r4, lr}", "ldm r2, {r2, r3, r12}", "movs r4, #0", f"vidup.u{bits} q2, r4, #1")
    emit(f"vmul.i{bits} q1, q2, r3", f"vmul.i{bits} q2, q2, r12", f"wlstp.{bits} lr, r2, 2f")
    emit.label(1)
    emit(f"vldr{load} q0, [r1, q1{offset}]", f"vstr{store} q0, [r0, q2{offset}]")
    emit(f"add r1, r1, r3, lsl #{shift}", f"add r0, r0, r12, lsl #{shift}", "letp lr, 1b")
    emit.label(2)
    emit("pop {r4, pc}")
    return function(name, "A run of elements.", f"{kind} *to, const {kind} *from, const int32_t *run", emit.lines)


def _texts(run: Loop, is_words: bool) -> tuple[str, tuple[str, ...]]:
    """The name of the C function for runs of one kind, and the texts that it needs."""
    kind, ending = ("float", "words") if is_words else ("int8_t", "bytes")
    if run.source == run.target == 1:
        way, moved = "copy", f"aidge_helium_copy((int8_t *)to, (const int8_t *)from, {'4 * ' * is_words}shape->run[0])"
    elif 1 in (run.source, run.target):
        way, moved = "stride", f"aidge_helium_strided_{ending}(to, shape->run[2], from, shape->run[1], shape->run[0])"
    else:
        way, moved = "scatter", f"aidge_helium_scatter_{ending}(to, from, shape->run)"
    name = f"aidge_helium_move_{ending}_{way}"
    scatter = [_scatter(f"aidge_helium_scatter_{ending}", kind)] if way == "scatter" else []
    text = f"""/* Elements to other places. */
static void {name}(const void *source, void *target, const aidge_helium_moved *shape)
{{
    const {kind} *const input = (const {kind} *)source;
    {kind} *const output = ({kind} *)target;
    const int32_t *const from_steps = shape->source_steps;
    const int32_t *const to_steps = shape->target_steps;
    int32_t a, b, c, d;
    for (a = 0; a < shape->dims[0]; a++) {{
        for (b = 0; b < shape->dims[1]; b++) {{
            for (c = 0; c < shape->dims[2]; c++) {{
                const {kind} *from = input + shape->start + a * from_steps[0] + b * from_steps[1] + c * from_steps[2];
                {kind} *to = output + a * to_steps[0] + b * to_steps[1] + c * to_steps[2];
                for (d = 0; d < shape->dims[3]; d++) {{
                    {moved};
                    from += from_steps[3];
                    to += to_steps[3];
                }}
            }}
        }}
    }}
}}"""
    return name, (*scatter, text)


def refused(loops: Sequence[Loop]) -> str:
    """Why these loops are not computed, or nothing."""
    if run_of(loops) is None:
        return "no axis with elements within reach of a gather"
    return f"{len(loops) - 1} loops around a run, at most {OUTER_LOOPS}" if len(loops) - 1 > OUTER_LOOPS else ""


def _other_type(view: NodeView) -> str:
    dtype = view.inputs[0].dtype
    return "" if dtype in (DType.int8, DType.uint8, DType.float32) else f"elements of type {dtype.name}"


ELEMENTS = Predicate("elements of type int8, uint8 or float32", _other_type)


def _spec(loops: Callable[[NodeView], tuple[int, list[Loop]]]) -> ImplSpec:
    def without_runs(view: NodeView) -> str:
        if 0 in view.outputs[0].dims:
            return "no elements"
        return next(filter(None, (refused(loops(stored)[1]) for stored in in_each_order(view))), "")

    runs = Predicate("runs of elements that are equally far apart", without_runs)
    side = IOSpec(DType.any_1, SAME)
    return ImplSpec(side, predicates=(SAME_QUANTIZATION, ELEMENTS, runs), features=MVE)


def _loops_of_slice(view: NodeView) -> tuple[int, list[Loop]]:
    (source,), (target,), operator = view.inputs, view.outputs, view.operator
    strides = layout(source.dims, target.storage, source.dtype).strides
    start = sum(first * stride for first, stride in zip(operator.starts, strides))
    steps = [step * stride for step, stride in zip(operator.steps, strides)]
    return start, merged([Loop(*numbers) for numbers in zip(target.dims, steps, target.layout.strides)])


def _loops_of_blocks(view: NodeView) -> tuple[int, list[Loop]]:
    return 0, merged([Loop(*numbers) for numbers in zip(*block_axes(view))])


@kernel("Slice", _spec(_loops_of_slice))
class Slice(StridedNode):
    loops = staticmethod(_loops_of_slice)


@kernel(("DepthToSpace", "SpaceToDepth"), _spec(_loops_of_blocks))
class Blocks(StridedNode):
    loops = staticmethod(_loops_of_blocks)
