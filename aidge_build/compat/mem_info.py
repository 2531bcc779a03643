# SPDX-License-Identifier: MIT
"""Memory managers: what `scheduler_export` takes as `memory_manager`."""

from __future__ import annotations

from pathlib import Path

from aidge_build.compat.scheduler import SequentialScheduler
from aidge_build.contract.mem_info import MemInfo, mem_info_of
from aidge_build.errors import AidgeError
from aidge_build.graph.view import Node
from aidge_build.memory.picture import render_text
from aidge_build.memory.planner import plan
from aidge_build.output import write_files
from aidge_build.placement import ARENA_ALIGNMENT


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
    scheduler: SequentialScheduler, stats_folder: str | None = None, wrapping: bool = False
) -> tuple[int, dict[Node, list[MemInfo]]]:
    """A memory manager: the planner of this tool. With `stats_folder` it writes a picture of the plan as text into that folder.

    `wrapping` is refused: this planner lets kernels overlap their input instead (`Demands.overlap`), and plans no ring.
    """
    if wrapping:
        raise AidgeError(
            "this planner makes no planes that wrap around",
            where="generate_optimized_memory_info",
            code="USAGE",
            hint="a memory manager of your own may, for kernels that say Demands(output_wrap=True)",
        )
    schedule, view = scheduler.schedule, scheduler.graph_view
    found = plan([buffer for buffer in schedule.buffers if buffer.kind != "scratch"])
    if stats_folder is not None:
        text = render_text(found, max(1, len(schedule.steps)))
        write_files({Path(stats_folder) / "memory_info.txt": f"{text}\n".encode()})
    return found.peak_bytes, {
        node: [mem_info_of(tensor, found.offset_of(schedule.buffer_of[tensor.name])) for tensor in view.output_tensors(node)]
        for node in schedule.steps
    }
