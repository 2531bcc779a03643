# SPDX-License-Identifier: MIT
"""Rings: an output begins after the end of its input, and continues at the start of the ring, in bytes that were read first.

A ring is one buffer to the planner. Its tensors follow each other, each the only input of its kind of the next one that dies
there; how far one must keep from the other, the kernel says (`Demands.overlap`, `in_place`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aidge_build.compat.separate_buffers import Asked
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.schedule.schedule import Schedule
from aidge_build.plan.schedule.sharing import Permission, permissions

ALIGNMENT = 4  # bytes: kernels may read whole words
MOST_SIZES = 256  # of a ring that are tried, in steps of the alignment


@dataclass(frozen=True)
class Member:
    """A tensor in a ring: its bytes, the bytes of a position, whether its kernels can address a plane that wraps around, and the
    distance in bytes from the tensor before (None: both begin at the same byte)."""

    buffer: Buffer
    position_bytes: int
    wraps: bool
    lead_bytes: int | None = 0


@dataclass(frozen=True)
class Ring:
    """`starts` are the first bytes of the members, counted from the start of `size_bytes`."""

    members: tuple[Member, ...]
    size_bytes: int
    starts: tuple[int, ...]

    @property
    def buffer(self) -> Buffer:
        """The ring as one buffer, named after its first member."""
        first, last = self.members[0].buffer, self.members[-1].buffer
        return Buffer(first.name, self.size_bytes, max(ALIGNMENT, first.alignment), first.first, last.last)


def ring_plan(view: GraphView, schedule: Schedule, demands: Asked) -> tuple[int, dict[Node, list[MemInfo]]]:
    """Returns the peak in bytes and the planes of each node's outputs; rings where kernels declare them and bytes are saved."""
    rings = _rings(view, schedule, demands)
    others = [buffer for buffer in schedule.buffers if buffer.kind not in ("io", "state", "activation")]
    found = plan([*(ring.buffer for ring in rings), *others])
    places = {
        member.buffer.name: (ring, start, found.offset_of(ring.buffer.name))
        for ring in rings
        for member, start in zip(ring.members, ring.starts)
    }

    def plane(tensor: Tensor) -> MemInfo:
        if schedule.buffer_of[tensor.name] not in places:
            return mem_info_of(tensor, 0)  # what the firmware owns
        ring, start, base = places[schedule.buffer_of[tensor.name]]
        whole = mem_info_of(tensor, base + start)
        cont = ring.size_bytes - start
        if tensor.size_bytes <= cont:
            return whole
        size = _position_bytes(tensor)
        per_line = whole.length if whole.size == size else tensor.layout.stored_dims[-1]
        rest = tensor.size_bytes - cont
        return MemInfo(size, base + start, size, per_line, tensor.size_bytes // size // per_line, cont, base + start, base, rest)

    return found.peak_bytes, {node: [plane(tensor) for tensor in view.output_tensors(node)] for node in schedule.steps}


def _rings(view: GraphView, schedule: Schedule, demands: Asked) -> list[Ring]:
    """Every buffer of the arena in a ring, alone where nothing is gained."""
    buffers = {buffer.name: buffer for buffer in schedule.buffers if buffer.kind == "activation"}
    ring_of = _of_one_member(view, schedule, buffers, _that_may_wrap(view, schedule, demands))
    for index, node in enumerate(schedule.steps):
        target = schedule.buffer_of[node.outputs[0]]
        if target not in buffers:
            continue
        dying = [
            entry
            for entry in permissions(node, schedule.buffer_of, demands(node))
            if entry.buffer in ring_of and buffers[entry.buffer].last == index + 1 and buffers[target].first == index
        ]
        longer = [_longer(ring_of[entry.buffer], ring_of[target].members[0], entry) for entry in dying]
        best = min(filter(None, longer), key=lambda ring: ring.size_bytes, default=None)
        ring_of |= {member.buffer.name: best for member in best.members} if best else {}
    return list({id(ring): ring for ring in ring_of.values()}.values())


def _of_one_member(view: GraphView, schedule: Schedule, buffers: Mapping[str, Buffer], able: Collection[str]) -> dict[str, Ring]:
    """Each buffer in a ring of its own, in the order in which the steps write them."""
    written = dict.fromkeys(schedule.buffer_of[output] for node in schedule.steps for output in node.outputs)
    found = {}
    for name in filter(buffers.__contains__, written):
        member = Member(buffers[name], _position_bytes(view.tensor(name)), name in able)
        found[name] = Ring((member,), buffers[name].size_bytes, (0,))
    return found


def _longer(ring: Ring, member: Member, entry: Permission) -> Ring | None:
    """Returns the ring with one more tensor after the one that dies; None if this one is not the last, or no bytes are saved."""
    last = ring.members[-1]
    if last.buffer.name != entry.buffer:
        return None
    members = (*ring.members, replace(member, lead_bytes=entry.lead_bytes))
    least = max(ring.size_bytes, last.buffer.size_bytes + (entry.lead_bytes or 0), member.buffer.size_bytes)
    for size in range(
        _aligned(least), min(ring.size_bytes + member.buffer.size_bytes, least + MOST_SIZES * ALIGNMENT), ALIGNMENT
    ):
        starts = _starts(members, size)
        if starts is not None:
            return Ring(members, size, starts)
    return None


def _starts(members: Sequence[Member], size: int) -> tuple[int, ...] | None:
    """Returns the start of each tensor in a ring of this size; None if one would wrap within a position, or cannot wrap."""
    starts = [0]
    for before, member in zip(members, members[1:]):
        for start in _candidates(starts[-1], before, member, size):
            cont = size - start
            if member.buffer.size_bytes <= cont or member.wraps and cont % member.position_bytes == 0:
                starts.append(start)
                break
        else:
            return None
    return tuple(starts)


def _candidates(start: int, before: Member, member: Member, size: int) -> Iterator[int]:
    """Yields the starts that keep far enough from the tensor before, nearest first.

    The bytes of the tensor before and the distance fit into the ring together.
    """
    if member.lead_bytes is None:
        yield start
        return
    for lead in range(_aligned(member.lead_bytes), size - before.buffer.size_bytes + 1, ALIGNMENT):
        if (start - lead) % size % member.buffer.alignment == 0:
            yield (start - lead) % size


def _that_may_wrap(view: GraphView, schedule: Schedule, demands: Asked) -> set[str]:
    """Returns the buffers that may wrap around, as their writer and readers declare: output 0, with one name, no graph output."""
    names: dict[str, list[str]] = {}
    for tensor, buffer in schedule.buffer_of.items():
        names.setdefault(buffer, []).append(tensor)
    found = set()
    for node in schedule.steps:
        name = node.outputs[0]
        if not demands(node).output_wrap or names[schedule.buffer_of[name]] != [name] or name in view.outputs:
            continue
        readers = [(demands(reader), reader.inputs) for reader in view.consumers(name)]
        if all(at in asked.input_planes for asked, inputs in readers for at, one in enumerate(inputs) if one == name):
            found.add(name)
    return found


def _position_bytes(tensor: Tensor) -> int:
    """The bytes that stay together: a pixel of an image that is stored channels-last, else an element."""
    whole = mem_info_of(tensor, 0)
    return whole.size if whole.length * whole.count > 1 else tensor.dtype.size_bytes


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
