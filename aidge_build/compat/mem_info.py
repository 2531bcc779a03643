# SPDX-License-Identifier: MIT
"""Memory managers: what `scheduler_export` takes as `memory_manager`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aidge_build.base.errors import AidgeError
from aidge_build.base.output import write_files
from aidge_build.compat.hw_model import Memory
from aidge_build.compat.rings import ring_plan
from aidge_build.compat.scheduler import SequentialScheduler
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.graph.tensor import Tensor
from aidge_build.graph.view import GraphView, Node
from aidge_build.plan.memory.picture import render_text
from aidge_build.plan.memory.plan import MemoryPlan
from aidge_build.plan.memory.regions import Room
from aidge_build.plan.placement import ARENA_ALIGNMENT
from aidge_build.plan.schedule.schedule import Schedule


def compute_default_mem_info(scheduler: SequentialScheduler) -> tuple[int, dict[Node, list[MemInfo]]]:
    """A memory manager: every output has bytes of its own, in the order of the schedule."""
    offset, found = 0, dict[Node, list[MemInfo]]()
    for node in scheduler.get_static_scheduling():
        found[node] = []
        for tensor in scheduler.graph_view.output_tensors(node):
            found[node].append(mem_info_of(tensor, offset))
            offset += -(-tensor.size_bytes // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
    return offset, found


def generate_optimized_memory_info(
    scheduler: SequentialScheduler,
    stats_folder: str | None = None,
    wrapping: bool = False,
    *,
    inc_producers: bool = False,
    auto_concat: bool = True,
    multiple_mems: bool = True,
    memory_components: Mapping[str, Memory] | None = None,
    display_names: bool = True,
    memory_alignment: int = 1,
    mem_optimize_strategy: object = None,
) -> tuple[int | list[int], dict[Node, list[MemInfo]]]:
    """A memory manager: the planner of this tool. With `stats_folder` it writes a picture of the plan as text into that folder.

    Kernels compute in place and let their output begin before their input as they declare it (`Demands`), and concatenations that
    need not run are left out of the schedule, which the scheduler has from then on. With `wrapping` the output may also go around
    the end of its input if this takes fewer bytes: the kernel has `Demands(output_wrap=True)`, and the kernels that read the
    output list this input in `input_planes`. `memory_components` are memories by name: the peaks are then a list in the order of
    their priority, and each plane says its memory in `mem_component_id`; AidgeError (code PLAN01) where they do not hold the
    tensors.

    `auto_concat`, `multiple_mems`, `display_names` and `mem_optimize_strategy` are accepted, and change nothing: there is one
    planner. Constants are never placed (`inc_producers`).
    """
    plans = scheduler.plans
    if plans is None:
        raise AidgeError("the memory manager runs inside of scheduler_export", code="USAGE", hint="pass it as memory_manager")
    if inc_producers:
        raise AidgeError("constants lie in flash", where="inc_producers=True", code="USAGE", hint="leave it out")
    if not 1 <= memory_alignment <= ARENA_ALIGNMENT:
        what, where = f"buffers are aligned to at most {ARENA_ALIGNMENT} bytes", f"memory_alignment={memory_alignment}"
        raise AidgeError(what, where=where, code="USAGE", hint="leave it out")
    if wrapping and memory_components is None:
        found = ring_plan(scheduler.graph_view, plans.apart, plans.demands)
        if found[0] < plans.arena.peak_bytes:
            return found
    rooms = _rooms(memory_components or {})
    parts = plans.spread(rooms) if rooms else [plans.arena]
    scheduler.schedule, scheduler.memory_names = plans.best, tuple(room.region for room in rooms)
    if stats_folder is not None:
        text = "\n".join(render_text(part, max(1, len(plans.best.steps))) for part in parts)
        write_files({Path(stats_folder) / "memory_info.txt": f"{text}\n".encode()})
    peaks = [part.peak_bytes for part in parts]
    return (peaks if rooms else peaks[0]), _planes(scheduler.graph_view, plans.best, parts)


def _rooms(components: Mapping[str, Memory]) -> list[Room]:
    """The memories in the order in which they are filled."""
    ordered = sorted(components.items(), key=lambda entry: entry[1].priority)
    return [Room(name, memory.available_capacity, 1 + number) for number, (name, memory) in enumerate(ordered)]


def _planes(view: GraphView, schedule: Schedule, parts: Sequence[MemoryPlan]) -> dict[Node, list[MemInfo]]:
    """Returns the plane of each output; an output that the firmware owns begins at byte 0 of a memory of its own."""
    placed = {one.buffer.name: (one.offset_bytes, number) for number, part in enumerate(parts) for one in part.placements}

    def plane(tensor: Tensor) -> MemInfo:
        part = schedule.parts.get(tensor.name)
        offset, number = placed.get(schedule.buffer_of[tensor.name], (0, 0))
        info = mem_info_of(tensor, 0) if part is None else mem_info_of(tensor, part.offset_bytes, part.stride_bytes)
        return info.moved(offset, number)

    return {node: [plane(tensor) for tensor in view.output_tensors(node)] for node in schedule.steps}
