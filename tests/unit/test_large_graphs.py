# SPDX-License-Identifier: MIT
"""Work grows with the size of a graph, not with its square; where a search would not end, it is cut off by a count."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from aidge_build.base.errors import AidgeError
from aidge_build.plan.memory import greedy, problem
from aidge_build.plan.memory.buffer import Buffer, Overlap
from aidge_build.plan.memory.checker import check
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.memory.problem import Problem
from aidge_build.plan.schedule import order
from aidge_build.sources.onnx_format import read_model, reader
from tests.command import aidge_build
from tests.effort import counted

OPERATORS = ("Sin", "Cos", "Tanh", "Sigmoid")
ROOT = Path(__file__).resolve().parents[2]


def saved(nodes: list[onnx.NodeProto], outputs: list[str]) -> bytes:
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def chain(count: int) -> bytes:
    names = ["x", *(f"t{index}" for index in range(count))]
    return saved([helper.make_node(OPERATORS[i % 4], [names[i]], [names[i + 1]]) for i in range(count)], names[-1:])


def wide(count: int) -> bytes:
    names = [f"t{index}" for index in range(count)]
    nodes = [helper.make_node(OPERATORS[i % 4], ["x"], [name]) for i, name in enumerate(names)]
    return saved([*nodes, helper.make_node("Concat", names, ["y"], axis=1)], ["y"])


def many_outputs(count: int) -> bytes:
    names = [f"t{index}" for index in range(count)]
    return saved([helper.make_node(OPERATORS[i % 4], ["x"], [name]) for i, name in enumerate(names)], names)


def tree(leaves: int) -> bytes:
    """Leaves that all read the input, added up in pairs: each order of the leaves is another state."""
    level = [f"l{index}" for index in range(leaves)]
    nodes = [helper.make_node("Sin", ["x"], [name]) for name in level]
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2]))
        sums = [f"s{len(nodes)}_{index}" for index in range(len(pairs))]
        nodes += [helper.make_node("Add", [*pair], [total]) for pair, total in zip(pairs, sums)]
        level = [*sums, *level[2 * len(pairs) :]]
    return saved(nodes, level)


def effort(data: bytes, folder: Path) -> int:
    (folder / "net.onnx").write_bytes(data)
    result, calls = counted(lambda: aidge_build("compile", folder / "net.onnx", "--out", folder / f"out{len(data)}"))
    assert result.exit_code == 0, result.stderr
    return calls


@pytest.mark.parametrize("made, most_calls", [(chain, 1_600), (wide, 2_300), (many_outputs, 2_400)])
def test_twice_the_graph_is_twice_the_work_and_a_node_takes_few_calls(made, most_calls, tmp_path):
    effort(made(4), tmp_path)  # imports, and what is read once
    start, small, large = (effort(made(count), tmp_path) for count in (20, 70, 120))
    assert large - small < 1.06 * (small - start)
    assert large - small < 50 * most_calls


def test_a_search_for_an_order_in_a_wide_graph_ends_after_a_count_of_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(order, "MOST_STEPS", 5_000)
    monkeypatch.setattr(order, "MOST_BEAM_STEPS", 5_000)
    assert effort(tree(64), tmp_path) < 1_450_000


def random_problem(seed: int) -> Problem:
    chance = random.Random(seed)
    buffers = []
    for index in range(chance.randrange(1, 40)):
        first = chance.randrange(12)
        buffers.append(
            Buffer(f"b{index}", chance.randrange(1, 99), chance.choice((1, 2, 4, 16)), first, first + chance.randrange(1, 9))
        )
    return Problem.of(buffers)


def test_a_wide_problem_is_placed_as_a_narrow_one():
    for seed in range(12):
        asked = random_problem(seed)
        for one in greedy.orders(asked):
            for tightest in (False, True):
                narrow = greedy.place(asked, one, tightest=tightest)
                assert greedy._placed_wide(asked, one, tightest=tightest) == narrow


@pytest.mark.parametrize("most_pairs", [problem.WIDE_PAIRS, 0])
def test_an_attempt_ends_where_its_peak_is_refused(most_pairs, monkeypatch):
    monkeypatch.setattr(problem, "WIDE_PAIRS", most_pairs)
    for seed in range(4):
        asked = random_problem(seed)
        for one in greedy.orders(asked):
            found = greedy.place(asked, one)
            assert greedy.attempt(asked, one, refuses=found.peak_bytes.__lt__) == found
            assert greedy.attempt(asked, one, refuses=found.peak_bytes.__le__) is None


def test_a_wide_problem_gets_a_legal_plan_and_a_bound_that_is_one(monkeypatch):
    """Also where buffers may overlap, or have windows. The searches of the seeds 0, 6 and others take seconds each."""
    for seed in range(20) if os.environ.get("AIDGE_STRESS") else (1, 3, 4, 5, 7, 8, 9):
        buffers = random_problem(seed).buffers
        bound_bytes, _ = Problem.of(buffers).lower_bound
        with monkeypatch.context() as patched:
            patched.setattr(problem, "WIDE_PAIRS", 0)
            found = plan(buffers)
            sharing = plan([Buffer("a", 8, 4, 0, 2), Buffer("b", 8, 4, 1, 3), *buffers], overlaps=[Overlap("b", "a", 4)])
        check(found, buffers)
        check(sharing, [placement.buffer for placement in sharing.placements])
        assert 0 < found.lower_bound_bytes <= bound_bytes <= found.peak_bytes


def test_only_tensors_that_live_at_once_make_a_problem_wide(monkeypatch):
    chain_of_10 = [Buffer(f"b{step}", 8, 4, step, step + 1) for step in range(10)]
    side_by_side = [Buffer(f"s{index}", 8, 4, 20, 22) for index in range(3)]  # 3 pairs
    for most_pairs, is_wide in ((2, True), (3, False)):
        monkeypatch.setattr(problem, "WIDE_PAIRS", most_pairs)
        assert Problem.of([*chain_of_10, *side_by_side]).is_wide == is_wide


def test_more_nodes_than_there_is_room_for_are_refused_before_they_are_read(monkeypatch):
    for name, limit, words in (
        ("MOST_NODES", 9, "the model has 10 nodes, the limit is 9"),
        ("MOST_WIRES", 19, "the model has 20 inputs and outputs of nodes, the limit is 19"),
    ):
        with monkeypatch.context() as patched, pytest.raises(AidgeError, match=words):
            patched.setattr(reader, name, limit)
            patched.setattr(reader, "node_of", None)
            read_model(chain(10), "m.onnx", {})
    assert reader.MOST_NODES > 20_000 and reader.MOST_WIRES > 100_000


@pytest.mark.parametrize("more, words", [((), "the limit is 2,147,483,647 B"), (("--board", "stm32f4"), "board stm32f4 has ")])
def test_a_tensor_that_fits_no_core_is_refused_with_both_numbers_before_anything_is_placed(more, words, tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1 << 38])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1 << 38])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    result = aidge_build("compile", tmp_path / "net.onnx", "--out", tmp_path / "out", *more)
    assert result.exit_code == 2 and not (tmp_path / "out").exists()
    assert f"tensor 'x': it needs 1,099,511,627,776 B, {words}" in result.stderr


@pytest.mark.skipif(not os.environ.get("AIDGE_STRESS"), reason="half a minute of processor time: AIDGE_STRESS=1")
@pytest.mark.parametrize("made, count", [(chain, 20_000), (wide, 5_000), (many_outputs, 5_000), (tree, 1_500)])
def test_a_large_graph_compiles_within_ten_seconds_and_500_megabytes(made, count, tmp_path):
    (tmp_path / "net.onnx").write_bytes(made(count))
    command = "import sys; from aidge_build.cli import main; sys.exit(main())"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", command, "compile", "net.onnx", "--out", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    assert after.ru_maxrss < 500 << 10
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10
