# SPDX-License-Identifier: MIT
"""Regions and offsets at once by the constraint solver CP-SAT, where the optional package `ortools` is installed.

One worker, a fixed seed and a limit of deterministic time: one release of ortools gives one answer on every machine. Nothing here
is needed: without the package, `regions` goes on by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from aidge_build.plan.memory.buffer import Buffer, Window
from aidge_build.plan.memory.problem import Problem
from aidge_build.plan.memory.regions import Answer, Room, Solver

SEED = 20234
DETERMINISTIC_TIME = 2.0
MOST_BUFFERS = 400


def installed() -> Solver | None:
    """Returns the solver, None if its package cannot be imported; releases before 9.9 have other names."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return None
    if not hasattr(cp_model.CpModel, "new_int_var"):
        return None
    return lambda problem, rooms, weights, hint: _solve(cp_model, problem, rooms, weights, hint)


def _solve(
    cp_model, problem: Problem, rooms: Sequence[Room], weights: Sequence[int], hint: Mapping[str, tuple[int, int]]
) -> Answer:
    if len(problem) > MOST_BUFFERS:
        return Answer((), False)
    model = cp_model.CpModel()
    inside, starts = _choices(model, problem.buffers, rooms, hint)
    omitted = problem.steps_apart
    for number, room in enumerate(rooms):
        across, up, heights = [], [], []
        for index, buffer in enumerate(problem.buffers):
            for part in _rectangles(buffer, omitted.get(buffer.name, ())):
                here, height = inside[index][number], part.high_bytes - part.low_bytes
                across.append(model.new_optional_fixed_size_interval_var(part.first, part.last - part.first, here, ""))
                up.append(model.new_optional_fixed_size_interval_var(starts[index] + part.low_bytes, height, here, ""))
                heights.append(height)
        model.add_no_overlap_2d(across, up)
        model.add_cumulative(across, heights, room.size_bytes)
    _keep_apart(model, problem, inside, starts, omitted)
    model.minimize(
        sum(
            weight * room.access_cost * here
            for weight, row in zip(weights, inside, strict=True)
            for room, here in zip(rooms, row, strict=True)
        )
    )
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = SEED
    solver.parameters.max_deterministic_time = DETERMINISTIC_TIME
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer((), status == cp_model.INFEASIBLE)
    places = tuple(
        (next(number for number, here in enumerate(row) if solver.value(here)), solver.value(start))
        for row, start in zip(inside, starts, strict=True)
    )
    return Answer(places, status == cp_model.OPTIMAL)


def _choices(
    model, buffers: Sequence[Buffer], rooms: Sequence[Room], hint: Mapping[str, tuple[int, int]]
) -> tuple[list[list], list]:
    """Returns, for each buffer, whether it is in each room, and its offset; a buffer ends inside the room that takes it."""
    largest = max(room.size_bytes for room in rooms)
    inside, starts = [], []
    for index, buffer in enumerate(buffers):
        multiple = model.new_int_var(0, (largest - buffer.size_bytes) // buffer.alignment, f"place {index}")
        row = [model.new_bool_var(f"{index} in {room.region}") for room in rooms]
        model.add_exactly_one(row)
        for number, (room, here) in enumerate(zip(rooms, row, strict=True)):
            if room.takes(buffer):
                model.add(multiple * buffer.alignment + buffer.size_bytes <= room.size_bytes).only_enforce_if(here)
            else:
                model.add(here == 0)
            if buffer.name in hint:
                model.add_hint(here, int(hint[buffer.name][0] == number))
        if buffer.name in hint:
            model.add_hint(multiple, hint[buffer.name][1] // buffer.alignment)
        inside.append(row)
        starts.append(multiple * buffer.alignment)
    return inside, starts


def _rectangles(buffer: Buffer, omitted: Collection[int]) -> Iterator[Window]:
    for window in buffer.extents:
        first = window.first
        for step in (*sorted(step for step in omitted if window.first <= step < window.last), window.last):
            if first < step:
                yield Window(first, step, window.low_bytes, window.high_bytes)
            first = step + 1


def _keep_apart(model, problem: Problem, inside: Sequence[Sequence], starts: Sequence, lowers: Collection[str]) -> None:
    """Adds, for each buffer that may overlap another one, its distances to all buffers that are live with it in the same room
    (`Problem.separations`)."""
    for one, upward, other, downward in problem.separations:
        if problem.buffers[one].name in lowers or problem.buffers[other].name in lowers:
            below, above = model.new_bool_var(""), model.new_bool_var("")
            model.add(starts[one] + upward <= starts[other]).only_enforce_if(below)
            model.add(starts[other] + downward <= starts[one]).only_enforce_if(above)
            for here, there in zip(inside[one], inside[other], strict=True):
                model.add_bool_or(below, above, ~here, ~there)
