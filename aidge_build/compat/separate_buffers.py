# SPDX-License-Identifier: MIT
"""A schedule as memory managers see it: a buffer for every tensor that is written, and which of them kernels let overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aidge_build.contract.spec import Demands
from aidge_build.graph.view import Node
from aidge_build.plan.memory.buffer import Overlap
from aidge_build.plan.memory.plan import MemoryPlan, Placement
from aidge_build.plan.schedule.schedule import Schedule, make_schedule
from aidge_build.plan.schedule.sharing import permissions
from aidge_build.prepare.adaptation.assignment import Assignment

Asked = Callable[[Node], Demands]  # what the kernel of a node asks of the planner


def unshared(shared: Schedule, assignment: Assignment, demands: Asked) -> Schedule:
    """Returns the same steps with a buffer for each tensor; `overlaps` are all that the kernels allow, in place included.

    The check of buffers takes an overlap in place at any distance; the replay of bytes then wants none.
    """
    found = make_schedule(assignment, demands, "plain", io_outside=True, joined=shared.joined, known=shared.order)
    lives = {buffer.name: buffer for buffer in found.buffers}
    overlaps = []
    for index, node in enumerate(found.steps):
        target = found.buffer_of[node.outputs[0]]
        for entry in permissions(node, found.buffer_of, demands(node)):
            if target in lives and entry.buffer in lives and lives[entry.buffer].last == lives[target].first + 1 == index + 1:
                overlaps.append(Overlap(target, entry.buffer, entry.lead_bytes or 0))
    return replace(found, overlaps=tuple(overlaps))


def retold(plan: MemoryPlan, shared: Schedule, apart: Schedule) -> MemoryPlan:
    """Returns a plan of the buffers that tensors share as one of the buffers that they have apart: no byte moves."""
    planned = {placement.buffer.name for placement in plan.placements}
    homes = [(buffer, shared.buffer_of.get(buffer.name, buffer.name)) for buffer in apart.buffers]
    placements = tuple(Placement(buffer, plan.offset_of(home)) for buffer, home in homes if home in planned)
    return replace(plan, placements=placements, overlaps=apart.overlaps)
