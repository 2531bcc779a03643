# SPDX-License-Identifier: MIT
"""From a memory manager's memory info to a plan of the arena, proved legal.

A plane in one piece is what every kernel takes. One with gaps between its positions, or one that continues elsewhere (around
the end of a ring), is only for a tensor whose writer and readers say that they can address it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from aidge_build.adaptation.assignment import Assignment
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import Demands
from aidge_build.errors import AidgeError, CheckFailed
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.memory.buffer import Buffer
from aidge_build.memory.plan import MemoryPlan, Placement
from aidge_build.memory.planner import plan
from aidge_build.placement import ARENA_ALIGNMENT, Placed, check_memory, places_of
from aidge_build.schedule.schedule import Schedule

Asked = Callable[[Node], Demands]


def placed_by(mem_info: Mapping, peak_bytes: int, schedule: Schedule, assignment: Assignment, demands: Asked) -> Placed:
    """The memory info (per node, or per name of a node, one entry per output) as a plan; the firmware owns inputs and outputs.

    Scratch lies behind the rest. AidgeError for what no kernel here can address, CheckFailed for what overlaps or is too small.
    """
    planes = _planes(mem_info, peak_bytes, schedule, assignment, demands)
    inside = [buffer for buffer in schedule.buffers if buffer.kind != "io"]
    pieces = [piece for buffer in inside if buffer.kind != "scratch" for piece in _pieces(buffer, planes[buffer.name])]
    base = -(-max((piece.end_bytes for piece in pieces), default=0) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
    pieces += [Placement(buffer, base) for buffer in inside if buffer.kind == "scratch"]
    arena, view = _plan_of(pieces), assignment.view
    places = places_of(schedule, view, arena, True)
    for name, plane in planes.items():
        if places[name].kind == "arena" and not _is_whole(plane):
            places[name] = replace(places[name], offset_bytes=plane.offset, plane=plane)
    placed = Placed(
        arena,
        tuple(piece.buffer for piece in pieces),
        plan(schedule.buffers),
        places,
        sum(buffer.size_bytes for buffer in schedule.buffers if buffer.kind == "io"),
        ARENA_ALIGNMENT,
        "",
    )
    check_memory(schedule, placed, assignment, demands)
    return placed


def _planes(mem_info: Mapping, peak_bytes: int, schedule: Schedule, assignment: Assignment, demands: Asked) -> dict[str, MemInfo]:
    """The plane of each buffer, by the name of the tensor that is written there."""
    view, found = assignment.view, dict[str, MemInfo]()
    for node in schedule.steps:
        infos = mem_info.get(node, mem_info.get(node.name))
        if infos is None or len(infos) != len(node.outputs):
            raise AidgeError(
                f"the memory manager says {'nothing' if infos is None else f'{len(infos)} planes'} about its "
                f"{len(node.outputs)} outputs",
                where=node.where(),
                code="PLAN03",
            )
        for index, (tensor, info) in enumerate(zip(view.output_tensors(node), map(MemInfo.of, infos))):
            if not _is_whole(info):
                reason = _rejection(node, index, tensor, info, schedule, assignment, demands)
                if reason:
                    raise AidgeError(f"the plane of '{tensor.name}' {reason}", where=node.where(), code="PLAN03")
            _require_room(node, tensor, info, peak_bytes)
            found[schedule.buffer_of[tensor.name]] = info
    return found


def _is_whole(info: MemInfo) -> bool:
    """Whether the plane lies in one piece without gaps."""
    return not info.wrap_size and (info.stride == info.size or info.length * info.count <= 1)


def _rejection(
    node: Node, index: int, tensor: Tensor, info: MemInfo, schedule: Schedule, assignment: Assignment, demands: Asked
) -> str:
    """Why this tensor cannot lie like that; "" when its kernels say they can address it."""
    what = "wraps around" if info.wrap_size else "has gaps between its positions"
    asked, buffer = demands(node), schedule.buffer_of[tensor.name]
    able = (asked.output_wrap or not info.wrap_size) and (asked.output_stride or info.stride == info.size)
    if index != 0 or not able:
        return f"{what}, which its kernel does not declare"
    others = sorted(name for name, held in schedule.buffer_of.items() if held == buffer and name != tensor.name)
    if others or buffer in assignment.view.outputs:
        return f"{what}, and it is also {f'the tensor {others[0]!r}' if others else 'an output of the graph'}"
    for reader in assignment.view.consumers(tensor.name):
        read = {position for position, name in enumerate(reader.inputs) if name == tensor.name}
        if not read <= set(demands(reader).input_planes):
            return f"{what}, which the kernel of its reader {reader.where()} does not declare"
    return _inconsistency(tensor, info)


def _inconsistency(tensor: Tensor, info: MemInfo) -> str:
    """Why the numbers of a plane with gaps or an end cannot be those of the tensor."""
    unit, count = tensor.dtype.size_bytes, info.length * info.count
    pixel = mem_info_of(tensor, 0)
    if info.size * count != tensor.size_bytes or pixel.length * pixel.count > 1 and info.size != pixel.size:
        return f"has {count} positions of {info.size} bytes, the tensor {pixel.length * pixel.count} of {pixel.size}"
    if any(number % unit for number in (info.size, info.stride, info.offset, info.wrap_offset)) or info.stride < info.size:
        return f"has a stride of {info.stride}, positions of {info.size} and begins at {info.offset}: elements have {unit} bytes"
    if not info.wrap_size:
        return ""
    if info.cont_offset != info.offset or info.cont_size <= 0 or info.cont_size % info.stride:
        where = f"after {info.cont_size} bytes from {info.cont_offset} on"
        return f"wraps around {where}, its positions are {info.stride} bytes apart"
    if info.cont_size + info.wrap_size not in (info.extent_bytes, info.stride * count):
        return f"has {info.cont_size} and {info.wrap_size} bytes, its positions need {info.extent_bytes}"
    return ""


def _require_room(node: Node, tensor: Tensor, info: MemInfo, peak_bytes: int) -> None:
    runs = [(info.offset, info.extent_bytes)]
    if info.wrap_size:
        runs = [(info.offset, info.cont_size - info.gap_bytes), (info.wrap_offset, info.extent_bytes - info.cont_size)]
    wrong = _is_whole(info) and info.extent_bytes != tensor.size_bytes
    if wrong or any(first < 0 or first + size > peak_bytes for first, size in runs):
        raise CheckFailed(
            f"the memory manager gives '{tensor.name}' ({tensor.size_bytes} bytes) {info.extent_bytes} bytes at {info.offset} "
            f"of {peak_bytes}",
            where=node.where(),
            code="PLAN02",
        )


def _pieces(buffer: Buffer, info: MemInfo) -> list[Placement]:
    """The buffer where it lies in one piece, else a buffer for each of its runs of bytes: gaps belong to others."""
    if _is_whole(info):
        return [Placement(buffer, info.offset)]
    runs: list[list[int]] = []
    for position in range(info.length * info.count):
        behind = position * info.stride
        wraps = info.wrap_size and behind >= info.cont_size
        first = info.wrap_offset + behind - info.cont_size if wraps else info.offset + behind
        if runs and runs[-1][1] == first:
            runs[-1][1] = first + info.size
        else:
            runs.append([first, first + info.size])
    return [
        Placement(
            Buffer(f"{buffer.name} ({number})" if number else buffer.name, end - first, 1, buffer.first, buffer.last), first
        )
        for number, (first, end) in enumerate(runs)
    ]


def _plan_of(placements: list[Placement]) -> MemoryPlan:
    """The placements as a plan, whose bound is the fullest moment."""
    steps = sorted({one.buffer.first for one in placements})
    live = [sum(one.buffer.size_bytes for one in placements if one.buffer.first <= step < one.buffer.last) for step in steps]
    bound = max(live, default=0)
    step = steps[live.index(bound)] if steps else 0
    return MemoryPlan(tuple(placements), max((one.end_bytes for one in placements), default=0), bound, step, False)
