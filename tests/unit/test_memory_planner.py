# SPDX-License-Identifier: MIT
"""The memory planner: legal, deterministic, honest about what is proved."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidge_build.errors import AidgeError
from aidge_build.memory.buffer import Buffer
from aidge_build.memory.checker import check
from aidge_build.memory.plan import CapacityExceeded
from aidge_build.memory.planner import plan

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


def require(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.relative_to(ROOT.parent)} is absent: this checkout has no shared problem files")
    return path


def buffers_of(rows, alignment: int = 1) -> list[Buffer]:
    return [Buffer(f"b{index}", size, alignment, first, last) for index, (first, last, size) in enumerate(rows)]


def gap_instances() -> list[dict]:
    return json.loads(require(DATA / "memplan" / "alloc" / "gap_instances.json").read_text())


def minimalloc(name: str) -> list[Buffer]:
    with require(DATA / "minimalloc" / f"{name}.csv").open() as file:
        return [Buffer(row["id"], int(row["size"]), 1, int(row["lower"]), int(row["upper"])) for row in csv.DictReader(file)]


def network_like(count: int, seed: int) -> list[Buffer]:
    """Buffers as a network makes them: most die soon, some live long, odd sizes, mixed alignment."""
    random = Random(seed)
    found = []
    for step in range(count):
        size = random.choice((random.randrange(1, 300), 16 * random.randrange(1, 2_000)))
        last = step + 2 + (random.randrange(20) if random.random() < 0.2 else 0)
        found.append(Buffer(f"t{step}", size, random.choice((1, 4, 16)), step, last))
    return found


@st.composite
def any_buffers(draw) -> list[Buffer]:
    rows = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(1, 40), st.sampled_from((1, 2, 4, 16))), max_size=14))
    return [Buffer(f"b{i}", size, alignment, first, first + length) for i, (first, length, size, alignment) in enumerate(rows)]


@settings(max_examples=150, deadline=None)
@given(any_buffers(), st.randoms(use_true_random=False))
def test_every_plan_passes_the_checker_and_ignores_the_order_of_the_question(buffers, random):
    found = plan(buffers)
    check(found, buffers)
    assert found.peak_bytes >= found.lower_bound_bytes
    shuffled = list(buffers)
    random.shuffle(shuffled)
    assert plan(shuffled) == found


@settings(max_examples=100, deadline=None)
@given(any_buffers())
def test_the_lower_bound_is_at_least_the_live_bytes_of_every_step(buffers):
    live = [sum(b.size_bytes for b in buffers if b.first <= step < b.last) for step in range(20)]
    found = plan(buffers)
    assert found.lower_bound_bytes >= max(live)
    bound_live = [p.buffer for p in found.live_at(found.bound_step)]
    assert bool(bound_live) == bool(buffers)


def test_the_lower_bound_counts_the_padding_that_no_arrangement_avoids():
    buffers = [Buffer(name, 10, 16, 0, 1) for name in "abc"]
    found = plan(buffers)
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal) == (42, 42, True)


def test_small_unaligned_buffers_may_fill_the_padding_of_aligned_ones():
    buffers = [Buffer("a", 10, 16, 0, 1), Buffer("b", 10, 16, 0, 1), Buffer("c", 6, 1, 0, 1)]
    found = plan(buffers)
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal) == (26, 26, True)


def test_no_buffers_make_an_empty_plan():
    found = plan([], capacity_bytes=0)
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal, found.placements) == (0, 0, True, ())


def test_a_buffer_that_ends_where_another_begins_gives_its_bytes():
    found = plan([Buffer("a", 8, 1, 0, 1), Buffer("b", 8, 1, 1, 2)])
    assert (found.offset_of("a"), found.offset_of("b"), found.peak_bytes) == (0, 0, 8)


def test_offset_of_an_unknown_buffer_is_refused():
    with pytest.raises(AidgeError, match="no such buffer"):
        plan([]).offset_of("x")


def test_two_buffers_of_one_name_are_refused():
    with pytest.raises(AidgeError, match="buffer 'a': two buffers have this name"):
        plan([Buffer("a", 8, 1, 0, 1), Buffer("a", 8, 1, 1, 2)])


@pytest.mark.parametrize("change, text", [
    ({"size_bytes": 0}, "the size is 0 B"), ({"alignment": 3}, "the alignment is 3"), ({"last": 0}, r"the lifetime \[0, 0\) is empty"),
    ({"first": -1}, "begins before step 0"), ({"kind": "weight"}, "the kind 'weight'"), ({"name": ""}, "needs a name"),
    ({"size_bytes": 1.5}, "must be Python integers"),
])
def test_an_impossible_buffer_is_refused(change, text):
    with pytest.raises(AidgeError, match=text):
        Buffer(**{"name": "a", "size_bytes": 4, "alignment": 4, "first": 0, "last": 1, **change})


def test_a_moment_above_the_capacity_is_refused_with_its_buffers():
    buffers = [Buffer("relu_1", 147_456, 16, 3, 5), Buffer("conv_2", 65_536, 16, 4, 6), Buffer("input", 4, 4, 0, 1)]
    with pytest.raises(CapacityExceeded) as caught:
        plan(buffers, capacity_bytes=131_072, region="SRAM1")
    assert str(caught.value) == (
        "the buffers need 212,992 B, region SRAM1 has 131,072 B; largest moment: step 4 needs 'relu_1' 147,456 B + 'conv_2' 65,536 B "
        "at once. Hint: a larger region, a smaller model, or int8 instead of float32")
    assert caught.value.code == "PLAN01"
    assert (caught.value.step, caught.value.needed_bytes, caught.value.available_bytes) == (4, 212_992, 131_072)
    assert [buffer.name for buffer in caught.value.live] == ["relu_1", "conv_2"]


def test_a_capacity_between_bound_and_optimum_is_refused_without_claiming_the_bound():
    instance = gap_instances()[0]
    with pytest.raises(CapacityExceeded) as caught:
        plan(buffers_of(instance["buffers"]), capacity_bytes=instance["max_live"])
    assert caught.value.needed_bytes == instance["optimum"]
    check(plan(buffers_of(instance["buffers"]), capacity_bytes=instance["optimum"]), buffers_of(instance["buffers"]))


def test_the_plan_is_the_same_under_every_hash_seed():
    program = ("from tests.unit.test_memory_planner import network_like; from aidge_build.memory.planner import plan;"
               "print([p.offset_bytes for p in plan(network_like(60, 1)).placements])")
    outputs = {subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True,
                              env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}).stdout for seed in ("0", "1", "77")}
    assert len(outputs) == 1


def test_one_buffer_more_in_a_thousand_is_planned_in_seconds():
    buffers = network_like(1_001, 3)
    begin = process_time()
    found = plan(buffers)
    assert process_time() - begin < 20, "1,001 buffers took more than 20 s of processor time"
    check(found, buffers)
    assert found.peak_bytes <= 1.05 * found.lower_bound_bytes


def test_the_report_line_names_the_gap_where_nothing_is_proved():
    instance = minimalloc("D.1048576")
    found = plan(instance)
    check(found, instance)
    if found.offsets_proved_optimal:
        assert found.report_line().endswith("offsets optimal")
    else:
        assert "gap " in found.report_line() and found.report_line().endswith("not proven (node limit)")


def test_the_smallest_minimalloc_example_is_packed_to_its_bound():
    found = plan(minimalloc("example.12"))
    assert (found.peak_bytes, found.lower_bound_bytes, found.offsets_proved_optimal) == (12, 12, True)
