# SPDX-License-Identifier: MIT
"""The plan of the arena that a memory manager's memory info describes, proved legal.

Every kernel takes a plane in one piece. A plane with gaps between its positions, or a plane that continues elsewhere (around
the end of a ring), is only for a tensor if its writer and readers say that they can address it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aidge_build.base.errors import AidgeError, CheckFailed
from aidge_build.base.naming import identifier
from aidge_build.compat.separate_buffers import Asked
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.contract.spec import Demands
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import Node
from aidge_build.plan.memory.buffer import Buffer, Overlap
from aidge_build.plan.memory.plan import MemoryPlan, Placement
from aidge_build.plan.place import ArenaPart, Placed
from aidge_build.plan.placement import ARENA_ALIGNMENT, check_memory, places_of
from aidge_build.plan.schedule.schedule import Schedule
from aidge_build.plan.schedule.stores import StateMemory
from aidge_build.prepare.adaptation.assignment import Assignment

MANAGERS = "docs/export-api.md says what a memory manager may say"


@dataclass(frozen=True)
class Memories:
    """The bytes of each memory in which a manager places tensors, and where each begins in the one arena of the program."""

    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, peak: int | Sequence[int], unit_bytes: int, names: tuple[str, ...] = ()) -> Memories:
        """One number is one memory; a list has the peak of each, in the order of `mem_component_id`, and perhaps a name."""
        sizes = tuple(int(each) * unit_bytes for each in (peak if isinstance(peak, Sequence) else [peak]))
        aligned = [-(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT for size in sizes]
        named = tuple(dict.fromkeys(identifier(name).lower() for name in names))
        return cls(sizes, tuple(sum(aligned[:index]) for index in range(len(aligned))), named if len(named) == len(sizes) else ())

    def parts(self, pieces: Sequence[Placement], arena: MemoryPlan) -> tuple[ArenaPart, ...]:
        """The arena's parts; none where there is one memory."""
        found = []
        for index, start in enumerate(self.starts if len(self.starts) > 1 else ()):
            end = self.starts[index + 1] if index + 1 < len(self.starts) else arena.peak_bytes
            inside = tuple(
                Placement(piece.buffer, piece.offset_bytes - start) for piece in pieces if start <= piece.offset_bytes < end
            )
            size = max((piece.end_bytes for piece in inside), default=0)
            if size:
                name = self.names[index] if self.names else ""
                plan = MemoryPlan(inside, size, 0, 0, False, name, arena.overlaps)
                found.append(ArenaPart(name, start, plan, name or f"mem{index}", index))
        return tuple(found) if len(found) > 1 else ()


def placed_by(
    mem_info: Mapping,
    peak_bytes: int | Sequence[int],
    schedule: Schedule,
    peak: MemoryPlan,
    assignment: Assignment,
    demands: Asked,
    memory_names: tuple[str, ...] = (),
) -> Placed:
    """The memory info (per node, or per name of a node, one entry per output) as a plan; the firmware owns inputs and outputs.

    In `schedule` every tensor has a buffer of its own, and `overlaps` are what kernels allow; `peak` is a plan with inputs and
    outputs inside. Scratch takes bytes that are free in its step. AidgeError for what no kernel here can address, CheckFailed for
    what overlaps or is too small.
    """
    said, unit = _said(mem_info, schedule, assignment)
    memories = Memories.of(peak_bytes, unit, memory_names)
    planes = _planes(said, memories, schedule, assignment, demands)
    inside = [buffer for buffer in schedule.buffers if buffer.kind != "io"]
    pieces = {buffer.name: _pieces(buffer, planes[buffer.name]) for buffer in inside if buffer.kind != "scratch"}
    placements = [piece for name in pieces for piece in pieces[name]]
    placements += [_in_free_bytes(buffer, placements, memories.starts) for buffer in inside if buffer.kind == "scratch"]
    arena, view = _plan_of(placements, _overlaps(schedule, pieces)), assignment.view
    states = StateMemory.of(view)
    places = places_of(schedule, view, arena, True, states)
    for name, plane in planes.items():
        if places[name].kind == "arena" and not _is_whole(plane):
            places[name] = replace(places[name], offset_bytes=plane.offset, plane=plane)
    placed = Placed(
        arena,
        tuple(piece.buffer for piece in placements),
        peak,
        places,
        sum(buffer.size_bytes for buffer in schedule.buffers if buffer.kind == "io"),
        ARENA_ALIGNMENT,
        "",
        memories.parts(placements, arena),
        states=states,
    )
    check_memory(schedule, placed, assignment, demands)
    return placed


Said = tuple[Node, int, Tensor, MemInfo]  # what the manager says of an output: node, number, tensor, plane


def _planes(
    said: Sequence[Said], memories: Memories, schedule: Schedule, assignment: Assignment, demands: Asked
) -> dict[str, MemInfo]:
    """The plane of each buffer of the arena, by its name, counted through all memories."""
    found: dict[str, MemInfo] = {}
    outside = _outside(schedule, assignment)
    for node, index, tensor, given in said:
        info = _in_arena(given, memories, node, tensor)
        buffer, part = schedule.buffer_of[tensor.name], schedule.parts.get(tensor.name)
        if buffer in outside:
            continue
        if part is None and not _is_whole(info):
            reason = _rejection(node, index, tensor, info, schedule, assignment, demands)
            if reason:
                raise AidgeError(f"the plane of '{tensor.name}' {reason}", where=node.where(), code="PLAN03", hint=MANAGERS)
        memory = info.mem_component_id
        _require_room(node, tensor, info, memories.starts[memory], memories.sizes[memory])
        if part is None:
            found[buffer] = info
            continue
        whole = mem_info_of(assignment.view.tensor(part.whole), info.offset - part.offset_bytes)
        wanted = mem_info_of(tensor, info.offset, part.stride_bytes)
        if (info.size, info.stride) != (wanted.size, wanted.stride) or found.setdefault(buffer, whole) != whole:
            what = f"the plane of '{tensor.name}' is not where it lies in '{part.whole}', of which it is a part"
            raise AidgeError(what, where=node.where(), code="PLAN03", hint=MANAGERS)
    return found


def _outside(schedule: Schedule, assignment: Assignment) -> set[str]:
    """The buffers that no memory manager places: inputs and outputs are the firmware's, states have a memory of their own."""
    return {buffer.name for buffer in schedule.buffers if buffer.kind == "io"} | set(StateMemory.of(assignment.view).offsets)


def _said(mem_info: Mapping, schedule: Schedule, assignment: Assignment) -> tuple[list[Said], int]:
    """Returns the manager's plane of each output, in bytes, and how many bytes the manager counts as one.

    A manager of the inherited API may count elements. Each of its planes then has as many units as its tensor has elements, and
    the unit is the size of the largest element type.
    """
    found: list[Said] = []
    for node in schedule.steps:
        infos = mem_info.get(node, mem_info.get(node.name))
        if infos is None or len(infos) != len(node.outputs):
            raise AidgeError(
                f"the memory manager says {'nothing' if infos is None else f'{len(infos)} planes'} about its "
                f"{len(node.outputs)} outputs",
                where=node.where(),
                code="PLAN03",
                hint=MANAGERS,
            )
        tensors = assignment.view.output_tensors(node)
        found += [(node, index, *entry) for index, entry in enumerate(zip(tensors, map(MemInfo.of, infos)))]
    outside = _outside(schedule, assignment)
    inside = [
        (tensor, info.size * info.length * info.count)
        for _, _, tensor, info in found
        if schedule.buffer_of[tensor.name] not in outside
    ]
    unit = max((tensor.dtype.size_bytes for tensor, _ in inside), default=1)
    if unit == 1 or not all(count == tensor.elements for tensor, count in inside):
        return found, 1
    return [(node, index, tensor, info.in_bytes(tensor.dtype.size_bytes, unit)) for node, index, tensor, info in found], unit


def _in_arena(info: MemInfo, memories: Memories, node: Node, tensor: Tensor) -> MemInfo:
    """The plane counted from the start of the whole arena."""
    if not 0 <= info.mem_component_id < len(memories.starts):
        what = (
            f"the memory manager puts '{tensor.name}' into memory {info.mem_component_id}, and gives {len(memories.starts)} peaks"
        )
        raise AidgeError(what, where=node.where(), code="PLAN03", hint=MANAGERS)
    return info.moved(memories.starts[info.mem_component_id], info.mem_component_id)


def _is_whole(info: MemInfo) -> bool:
    """Whether the plane is in one piece without gaps."""
    return not info.wrap_size and (info.stride == info.size or info.length * info.count <= 1)


def _can_write(asked: Demands, info: MemInfo) -> bool:
    return (asked.output_wrap or not info.wrap_size) and (asked.output_stride or info.stride == info.size)


def _rejection(
    node: Node, index: int, tensor: Tensor, info: MemInfo, schedule: Schedule, assignment: Assignment, demands: Asked
) -> str:
    """Returns why this tensor cannot have this plane; "" when its kernels say they can address it."""
    what = "wraps around" if info.wrap_size else "has gaps between its positions"
    buffer = schedule.buffer_of[tensor.name]
    if index != 0 or not _can_write(demands(node), info):
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
    """Returns why the numbers of a plane with gaps or an end do not fit the tensor; "" if they fit."""
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


def _require_room(node: Node, tensor: Tensor, info: MemInfo, start: int, peak_bytes: int) -> None:
    runs = [(info.offset, info.extent_bytes)]
    if info.wrap_size:
        runs = [(info.offset, info.cont_size - info.gap_bytes), (info.wrap_offset, info.extent_bytes - info.cont_size)]
    wrong = _is_whole(info) and info.extent_bytes != tensor.size_bytes
    if wrong or any(first < start or first + size > start + peak_bytes for first, size in runs):
        raise CheckFailed(
            f"the memory manager gives '{tensor.name}' ({tensor.size_bytes} bytes) {info.extent_bytes} bytes at "
            f"{info.offset - start} of {peak_bytes}",
            where=node.where(),
            code="PLAN02",
        )


def _pieces(buffer: Buffer, info: MemInfo) -> list[Placement]:
    """Returns the buffer if it is in one piece, else a buffer for each of its runs of bytes: gaps belong to others."""
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


def _in_free_bytes(buffer: Buffer, placements: Sequence[Placement], starts: Sequence[int]) -> Placement:
    """Returns the scratch of one step at the lowest offset that is free in this step, and inside of one memory."""
    live = [(one.offset_bytes, one.buffer.live_bytes(buffer.first)) for one in placements]
    taken = [(offset + low, offset + high) for offset, (low, high) in live if high]
    borders = [(start, start) for start in starts[1:]]
    for offset in sorted(-(-end // buffer.alignment) * buffer.alignment for _, end in [(0, 0), *taken, *borders]):
        after = offset + buffer.size_bytes
        if not any(offset < end and first < after for first, end in taken) and not any(offset < at < after for at, _ in borders):
            return Placement(buffer, offset)
    raise AssertionError("behind the last byte there is room")


def _overlaps(schedule: Schedule, pieces: Mapping[str, Sequence[Placement]]) -> tuple[Overlap, ...]:
    """Returns the overlaps that kernels allow, piece by piece.

    For planes that are not in one piece the lead is unlimited here: only the replay of bytes knows how far apart they must be.
    """
    found = []
    for each in schedule.overlaps:
        lower, upper = pieces.get(each.lower, ()), pieces.get(each.upper, ())
        lead = each.lead_bytes if len(lower) == len(upper) == 1 else -(1 << 31)
        found += [Overlap(one.buffer.name, other.buffer.name, lead) for one in lower for other in upper]
    return tuple(found)


def _plan_of(placements: list[Placement], overlaps: tuple[Overlap, ...]) -> MemoryPlan:
    """The placements as a plan, with the peak as its bound: bytes that kernels allow to share do not count."""
    steps = sorted({one.buffer.first for one in placements})
    late = {overlap.lower: overlap.upper for overlap in overlaps}

    def bound_at(step: int) -> int:
        counted = [one.buffer for one in placements if not (one.buffer.name in late and one.buffer.first == step)]
        return sum(high - low for low, high in (buffer.live_bytes(step) for buffer in counted))

    live = [bound_at(step) for step in steps]
    bound = max(live, default=0)
    step = steps[live.index(bound)] if steps else 0
    peak = max((one.end_bytes for one in placements), default=0)
    return MemoryPlan(tuple(placements), peak, bound, step, peak == bound, "", overlaps)
