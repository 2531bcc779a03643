# SPDX-License-Identifier: MIT
"""The search for cascades against all of them: it misses no single cascade of small networks, and it counts every live row."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import inf

import pytest

from aidge_build.boards import load_board
from aidge_build.build.compile import build_program
from aidge_build.plan import planning
from aidge_build.plan.banding import Plans
from aidge_build.plan.cascade.cascade import Cascade
from aidge_build.plan.cascade.lifetimes import Run, with_cascades
from aidge_build.plan.cascade.question import live_bytes
from aidge_build.plan.cascade.row_layer import ROW_AXIS
from aidge_build.plan.cascade.search import ALL
from aidge_build.plan.memory.checker import check
from aidge_build.plan.options import Options
from tests.cascade_nets import RowNetwork
from tests.compiled import request_of

NETWORKS = [
    (seed, given, taken)
    for given, taken, seeds in (
        ("whole", "whole", (2, 15)),
        ("rows", "whole", (2, 16)),
        ("whole", "rows", (1, 9)),
        ("rows", "rows", (0, 14)),
    )
    for seed in seeds
]


@cache
def plans_of(seed: int, given: str, taken: str) -> Plans:
    """What the build asks about the cascades of a random network."""
    caught = []

    def banded(*words, **options) -> Plans:
        caught.append(original(*words, **options))
        return caught[-1]

    original = planning.banded
    options = Options(input=given, output=taken, memory_model="cascade")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "banded", banded)
        build_program(replace(request_of(RowNetwork(seed, 5).file(), "net.onnx", load_board("host")), options=options))
    return caught[0]


def runs_of(plans: Plans, size: int) -> list[Run]:
    """Every cascade of consecutive steps in bands of `size` rows."""
    steps, asked = plans.question.alone.steps, plans.question
    able = [asked.graph.kernels.layer(node) is not None for node in steps]
    chains = [steps[first:last] for first, last in combinations(range(len(steps) + 1), 2) if all(able[first:last])]
    found = [asked.run(steps.index(chain[0]), dict.fromkeys((node.name for node in chain), size)) for chain in chains]
    return [run for run in found if run is not None]


def goes_by_rows(runs: tuple[Run, ...], given: str, taken: str) -> bool:
    sides = any(run.cascade.arriving for run in runs), any(run.cascade.departing for run in runs)
    return sides == (given == "rows", taken == "rows")


@pytest.mark.parametrize("seed, given, taken", NETWORKS)
def test_no_single_cascade_of_a_small_network_is_better_than_all_that_a_search_finds(seed, given, taken):
    plans = plans_of(seed, given, taken)
    found, one_by_one = plans.found(), list[tuple[Run, ...]]()
    assert all(goes_by_rows(plan.runs, given, taken) for plan in found)
    for size in ALL.rows:
        single = runs_of(plans, size)
        pairs = combinations([run for run in single if run.cascade.waits], 2) if given == taken == "rows" else ()
        one_by_one += [(run,) for run in single] + [(one, other) for one, other in pairs if one.last <= other.first]
    asked = [runs for runs in one_by_one if goes_by_rows(runs, given, taken)]
    assert len(asked) > 5
    for runs in asked:
        other = plans.question.planned(runs)
        assert any(plan.peak.peak_bytes <= other.peak.peak_bytes and plan.cost <= other.cost for plan in found)
    for plan in found:
        check(plan.peak, plan.schedule.buffers)
        assert max(live_bytes(plan.schedule)) <= plan.peak.peak_bytes


Rows = dict[str, dict[str, int]]  # of each tensor, while each layer runs


def rows_alive(cascade: Cascade) -> tuple[Rows, Rows, Rows]:
    """By the steps alone: how far the live rows of a line reach in its bytes, the first row of a whole tensor that is still read,
    and one past the last row of it that is written."""
    reached, lowest, written = (defaultdict(dict) for _ in range(3))
    fronts, done = Counter[str](), Counter[str]()  # the row whose place is the front, the rows that are written
    for number, step in enumerate(cascade.steps):
        fronts.update({rows.tensor: rows.first - rows.slot - fronts[rows.tensor] for _, rows in cascade.touched(step)})
        if not step.departs and step.node not in cascade.carrying:
            done[step.writes.tensor] = step.last
        needed = dict[str, int]()
        for rows in (rows for each in cascade.steps[number:] for rows in each.reads if rows is not None):
            needed[rows.tensor] = min(rows.first, needed.get(rows.tensor, rows.first))
        called = next((each.node for each in cascade.steps[number:] if each.node), "")
        for name in {*needed, *done}:
            if name not in cascade.lines:
                written[name][step.node] = done[name]
                lowest[name].setdefault(step.node, needed.get(name, inf))
            elif called and not step.departs and (needed.get(name, inf) < done[name] or name == step.writes.tensor):
                reached[name][called] = max(done[name] - fronts[name], reached[name].get(called, 0))
        fronts.update({shift.rows.tensor: shift.rows.slot - shift.target for shift in step.shifts})
    return reached, lowest, written


def bytes_alive(plans: Plans, run: Run, rows: tuple[Rows, Rows, Rows], node: str) -> dict[str, tuple[int, int]]:
    """The bytes that are live of the buffers that the cascade touches, while the layer `node` runs."""
    alone, lines, found = plans.question.alone, run.cascade.lines, dict[str, tuple[int, int]]()
    reached, lowest, written = rows
    touched = defaultdict(set)
    for name in (name for step in alone.steps[run.first : run.last] for name in (*step.inputs, *step.outputs)):
        touched[alone.buffer_of.get(name, "")].add(name)
    for buffer in alone.buffers:
        names = touched.get(buffer.name, set())
        for name in names:
            width = buffer.size_bytes // plans.question.graph.kernels.assignment.view.tensor(name).dims[ROW_AXIS]
            if name in lines:
                nodes = [place for place, each in enumerate(run.cascade.nodes) if each in reached[name]]
                is_kept = min(nodes) <= run.cascade.nodes.index(node) <= max(nodes)
                found[buffer.name] = (0, max(1, lines[name].row_bytes * reached[name].get(node, 0)) if is_kept else 0)
            elif name not in run.cascade.stocks or len(names) > 1:
                found[buffer.name] = (0, buffer.size_bytes)
            elif any(written[name].values()):
                found[buffer.name] = (0, max(1, written[name].get(node, 0) * width))
            else:
                low = 0 if buffer.last > run.last else min(lowest[name][node] * width, buffer.size_bytes - 1)
                found[buffer.name] = (low, buffer.size_bytes)
    return found


@pytest.mark.parametrize("seed, given, taken", NETWORKS)
def test_rows_live_from_the_step_that_writes_them_to_the_last_step_that_reads_them(seed, given, taken):
    plans = plans_of(seed, given, taken)
    for run in runs_of(plans, 2):
        cascade, schedule = run.cascade, with_cascades(plans.question.alone, [run])
        reached, lowest, written = rows_alive(cascade)
        assert {name: line.reached for name, line in cascade.lines.items()} == {name: reached[name] for name in cascade.lines}
        made = {step.writes.tensor for step in cascade.steps if not step.departs}
        for name, stocks in cascade.stocks.items():
            for node, stock in stocks.items():
                low, high = (0, written[name][node]) if name in made else (lowest[name][node], stock.height)
                assert (stock.first, stock.last) == (min(low, stock.height), high)
        assert schedule.cascades == (cascade,)
        before, after = ({buffer.name: buffer for buffer in one.buffers} for one in (plans.question.alone, schedule))
        for step, node in enumerate(schedule.steps):
            inside = run.first <= step < run.last
            expected = {
                name: buffer.live_bytes(step) for name, buffer in before.items() if buffer.kind != "scratch" or not inside
            }
            expected |= bytes_alive(plans, run, (reached, lowest, written), node.name) if inside else {}
            found = {name: buffer.live_bytes(step) for name, buffer in after.items() if not name.startswith("scratch of ")}
            assert {name: live for name, live in found.items() if any(live)} == {
                name: live for name, live in expected.items() if any(live)
            }
