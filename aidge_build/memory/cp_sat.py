# SPDX-License-Identifier: MIT
"""Regions and offsets at once by the constraint solver CP-SAT, where the optional package `ortools` is installed.

The least sum of (accesses x cost of the region), in one worker with a fixed seed and a limit of deterministic time: the same
release gives the same answer on every machine. Nothing here is needed: without the package, `regions` goes on by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

from aidge_build.memory.buffer import Buffer

SEED = 20234
DETERMINISTIC_TIME = 8.0
MOST_BUFFERS = 400


class Memory(Protocol):
    """What is asked of a region."""

    size_bytes: int
    access_cost: int

    def takes(self, buffer: Buffer) -> bool: ...


@dataclass(frozen=True)
class Answer:
    """(number of the region, offset) per buffer; empty when none was found. `proved`: that it is the cheapest, or that none exists."""

    places: tuple[tuple[int, int], ...]
    proved: bool


def is_installed() -> bool:
    """Whether the solver can be imported."""
    return find_spec("ortools") is not None


def solve(buffers: Sequence[Buffer], memories: Sequence[Memory], weights: Mapping[str, int], hint: Mapping[str, int]) -> Answer:
    """A region and an offset for every buffer, all of whose bytes count as live all its life.

    `weights` are accesses by buffer; `hint` are the numbers of regions that a simpler method found.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    largest = max((memory.size_bytes for memory in memories), default=0)
    chosen, offsets, cost = [], [], []
    boxes = [([], []) for _ in memories]
    for index, buffer in enumerate(buffers):
        if buffer.size_bytes > largest:
            return Answer((), True)
        place = model.new_int_var(0, (largest - buffer.size_bytes) // buffer.alignment, f"place {index}")
        inside = [model.new_bool_var(f"{index} in {number}") for number in range(len(memories))]
        model.add_exactly_one(inside)
        for number, (memory, present) in enumerate(zip(memories, inside, strict=True)):
            if not memory.takes(buffer):
                model.add(present == 0)
            model.add(place * buffer.alignment + buffer.size_bytes <= memory.size_bytes).only_enforce_if(present)
            across, up = boxes[number]
            across.append(model.new_optional_fixed_size_interval_var(buffer.first, buffer.last - buffer.first, present, ""))
            up.append(model.new_optional_fixed_size_interval_var(place * buffer.alignment, buffer.size_bytes, present, ""))
            cost.append(weights.get(buffer.name, 1) * memory.access_cost * present)
            model.add_hint(present, hint.get(buffer.name) == number)
        chosen.append(inside)
        offsets.append(place)
    for memory, (across, up) in zip(memories, boxes, strict=True):
        model.add_no_overlap_2d(across, up)
        model.add_cumulative(across, [buffer.size_bytes for buffer in buffers], memory.size_bytes)
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = SEED
    solver.parameters.max_deterministic_time = DETERMINISTIC_TIME
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer((), status == cp_model.INFEASIBLE)
    places = tuple((next(number for number, present in enumerate(inside) if solver.value(present)), solver.value(place) * buffer.alignment)
                   for buffer, inside, place in zip(buffers, chosen, offsets, strict=True))
    return Answer(places, status == cp_model.OPTIMAL)
