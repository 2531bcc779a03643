# SPDX-License-Identifier: MIT
"""`aidge-build plan`: models and problem files, what is proved about them, and the drawings."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from functools import cache
from pathlib import Path

import numpy
import onnx
import pytest

from aidge_build.plan.memory.buffer import Buffer
from aidge_build.plan.memory.planner import plan
from aidge_build.plan.schedule.order import best_order
from aidge_build.plan.schedule.problem_file import read_problem
from tests.command import aidge_build
from tests.models import model
from tests.shared import SHARED, int8_model, shared

SCHEDULES = SHARED / "data" / "memplan" / "schedule"
GAPS = SHARED / "data" / "memplan" / "alloc" / "gap_instances.json"
MINIMALLOC = SHARED / "data" / "minimalloc"
FILES = sorted(SCHEDULES.glob("*.json")) or [SCHEDULES]
STRESS = "AIDGE_STRESS" in os.environ
TRACES = "ABCFGHK" if STRESS else "CH"  # the others take seconds each; the planner's own tests have F and G
PLAIN_PEAKS = {"ad_toycar": 768, "kws_dscnn": 16_192, "ic_resnet8": 49_152, "vww_mobilenet025": 55_320, "sww_dscnn1d": 6_656}

DEFAULT_PEAKS = {"ic_resnet8": 32_768}  # the residual Add is fused into the convolution


def planned(*words) -> dict:
    result = aidge_build("plan", *words, "--json")
    assert result.exit_code == 0, result.stderr
    return result.json


def replayed_peak(problem: dict, order: list[int]) -> int:
    """The peak of an order by the definition in the files' README; the order must be legal."""
    live, highest, left = set(problem["inputs"]), 0, list(order)
    assert sorted(order) == list(range(len(problem["ops"])))
    for number in order:
        operation = problem["ops"][number]
        left.remove(number)
        assert set(operation["inputs"]) <= live
        live |= set(operation["outputs"])
        highest = max(highest, sum(problem["tensors"][tensor] for tensor in live))
        live &= {tensor for other in left for tensor in problem["ops"][other]["inputs"]} | set(problem["outputs"])
    return highest


@cache
def printed(path: Path) -> str:
    """What `plan --json` prints for a problem file."""
    result = aidge_build("plan", path, "--json")
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_order_and_arena_of_a_published_graph_are_optimal_and_proved(path):
    problem = json.loads(shared(path).read_text())
    found = json.loads(printed(path))
    expected = problem["expected"]["optimal_peak"]
    assert (found["peak_bytes"], found["order_peak_bytes"], found["order_proved_optimal"], found["offsets_proved_optimal"]) == (
        expected,
        expected,
        True,
        True,
    )
    assert replayed_peak(problem, found["order"]) == expected
    assert max(buffer["offset_bytes"] + buffer["size_bytes"] for buffer in found["buffers"]) == expected


def test_all_published_graphs_together_take_fewer_than_a_hundred_thousand_states():
    assert sum(json.loads(printed(shared(path)))["order_states"] for path in FILES) < 100_000


@pytest.mark.parametrize("path", [*FILES, GAPS], ids=lambda path: path.stem)
def test_known_answers_in_a_file_are_never_read(path, tmp_path):
    problem = json.loads(shared(path).read_text())
    entries = problem if isinstance(problem, list) else [problem]
    answers = ("expected", "one_optimal_order", "max_live", "optimum")
    assert all(entry.keys() & set(answers) for entry in entries)
    for key in answers:
        for entry in entries:
            entry.pop(key, None)
    bare = tmp_path / path.name
    bare.write_text(json.dumps(problem))
    assert printed(bare) == printed(path)


def test_the_optimum_of_a_gap_instance_is_reported_and_never_its_bound():
    expected = [(instance["optimum"], instance["max_live"], True) for instance in json.loads(shared(GAPS).read_text())]
    assert [
        (found["peak_bytes"], found["lower_bound_bytes"], found["offsets_proved_optimal"])
        for found in json.loads(printed(GAPS))["instances"]
    ] == expected


@pytest.mark.parametrize("name, peak", [(name, 1_039_360 if name == "C" else 1_048_576) for name in TRACES])
def test_an_accelerator_trace_is_packed_to_its_bound(name, peak):
    found = planned(shared(MINIMALLOC / f"{name}.1048576.csv"), "--capacity", 1_048_576)
    assert (found["peak_bytes"], found["lower_bound_bytes"], found["offsets_proved_optimal"]) == (peak, peak, True)


@pytest.mark.skipif(not STRESS, reason="a minute of processor time: AIDGE_STRESS=1")
@pytest.mark.parametrize("name", ["D", "J"])
def test_an_accelerator_trace_above_its_bound_fits_its_capacity(name):
    assert planned(shared(MINIMALLOC / f"{name}.1048576.csv"), "--capacity", 1_048_576)["peak_bytes"] <= 1_048_576


def test_dropping_the_copy_at_the_start_of_swiftnet_lowers_the_optimum():
    path = shared(SCHEDULES / "swiftnet_vwwc19.json")
    both = planned(path), planned(path, "--drop-identities")
    assert [found["peak_bytes"] for found in both] == [301_056, 275_968]
    assert all(found["order_proved_optimal"] and found["offsets_proved_optimal"] for found in both)


def test_a_model_has_the_same_plan_under_every_hash_seed():
    path, root = int8_model("ic_resnet8"), Path(__file__).resolve().parents[2]
    words = [sys.executable, "-m", "aidge_build", "plan", str(path), "--lib", "ref", "--json"]
    outputs = {
        subprocess.run(
            words,
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        ).stdout
        for seed in ("0", "77")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("name", sorted(PLAIN_PEAKS) if STRESS else ["ic_resnet8", "kws_dscnn"])
def test_the_plain_peak_of_a_benchmark_model_is_exact_and_proved_and_the_default_is_not_above(name):
    path = int8_model(name)
    plain = planned(path, "--lib", "ref", "--memory-model", "plain", "--constant-channels", "off")
    assert (plain["peak_bytes"], plain["order_peak_bytes"], plain["order_proved_optimal"], plain["offsets_proved_optimal"]) == (
        PLAIN_PEAKS[name],
        PLAIN_PEAKS[name],
        True,
        True,
    )
    for io in ("caller", "arena"):
        found = planned(path, "--lib", "ref", "--io", io)
        assert found["peak_bytes"] <= DEFAULT_PEAKS.get(name, PLAIN_PEAKS[name])
        assert found["order_proved_optimal"] and found["offsets_proved_optimal"]


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "chain.onnx"
    path.write_bytes(
        model(
            "a = MatMul(x, w) b = Relu(a) c = Neg(b) y = MatMul(c, w)",
            inputs="float[1,16] x",
            outputs="float[1,16] y",
            constants={"w": numpy.eye(16, dtype=numpy.float32)},
        )
    )
    return path


def test_the_report_says_peak_bound_and_what_is_proved(chain):
    result = aidge_build("plan", chain)
    assert "chain.onnx: peak 128 B; lower bound 128 B (max-live at " in result.stdout
    assert "; order optimal (" in result.stdout and " states); offsets optimal\n" in result.stdout


def test_why_lists_what_is_live_in_the_largest_moment_and_what_goes_on_in_place(chain):
    result = aidge_build("plan", chain, "--why")
    assert "the peak: 128 B" in result.stdout and ", then in place " in result.stdout
    live = planned(chain)["live_at_peak"]
    assert sum(entry["size_bytes"] for entry in live) == 128


def test_the_plain_model_keeps_every_tensor_apart(chain):
    assert len(planned(chain)["peak_buffers"]) < len(planned(chain, "--memory-model", "plain")["peak_buffers"])


def test_the_drawing_is_well_formed_and_names_every_buffer(chain, tmp_path):
    svg, page = tmp_path / "a.svg", tmp_path / "a.html"
    found = planned(chain, "--svg", svg, "--html", page)
    titles = [element.text or "" for element in xml.etree.ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}title")]
    for buffer in found["peak_buffers"]:
        assert any(title.startswith(f"{buffer['name']}  {buffer['size_bytes']:,} B at ") for title in titles)
    boxes = svg.read_text().count('class="item"')
    assert boxes == page.read_text().count('class="item"') >= len(found["peak_buffers"]) and "offsets optimal" in page.read_text()
    assert not any(word in page.read_text() for word in ("<script", "href=", "src=", "http"))
    assert "prefers-color-scheme: dark" in page.read_text() and "prefers-color-scheme: dark" in svg.read_text()


def test_a_drawing_calls_layers_by_their_functions_and_long_names_stay_in_tables(chain, tmp_path):
    made, page, svg = onnx.load(chain), tmp_path / "a.html", tmp_path / "a.svg"
    long = "functional_1/a_very_long_name;" * 20 + "<b>"
    for node in made.graph.node:
        for names in (node.input, node.output):
            for index, name in enumerate(names):
                names[index] = long if name == "b" else name
    onnx.save(made, chain)
    planned(chain, "--svg", svg, "--html", page, "--memory-model", "plain")
    texts = [element.text or "" for element in xml.etree.ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert max(map(len, texts)) < 80 and "matmul_0" in texts
    assert f'<td class="name">{html.escape(long)}<' not in page.read_text() and html.escape(long) in page.read_text()


@pytest.mark.parametrize(
    "name, content, text",
    [
        ("a.json", "{}", "there is no 'tensors'"),
        ("a.json", "[1", "not a problem of the planner"),
        ("a.csv", "id,lower\n", ""),
        ("a.csv", "id,lower,upper\n0,0,1\n", "there is no 'size'"),
        ("a.csv", "id,lower,upper,size\n0,1,1,5\n", "is empty"),
        (
            "a.json",
            '{"tensors": [1, 2], "ops": [{"inputs": [1], "outputs": [0]}], "inputs": [], "outputs": [0]}',
            "before it is written",
        ),
        ("a.json", '{"tensors": [1], "ops": [{"inputs": [], "outputs": [3]}], "inputs": [], "outputs": []}', "which has no size"),
        ("a.json", '{"tensors": [1], "ops": [], "inputs": [0], "outputs": [5]}', "is never written"),
        ("a.json", '{"tensors": [1], "ops": [{"inputs": [0], "outputs": [0]}], "inputs": [0], "outputs": []}', "exists already"),
        ("a.json", '{"tensors": [1], "ops": [{"inputs": [0], "outputs": []}], "inputs": [0], "outputs": []}', "writes nothing"),
        *(
            ("a.json", f'{{"tensors": [1, 0], "ops": [], "inputs": [{tensor}], "outputs": []}}', f"{tensor} is never written, or")
            for tensor in (-1, 1, 2)
        ),
    ],
)
def test_a_file_that_is_no_problem_is_refused_in_one_line(tmp_path, name, content, text):
    path = tmp_path / name
    path.write_text(content)
    result = aidge_build("plan", path)
    if text:
        assert result.exit_code == 2 and text in result.stderr and len(result.stderr.splitlines()) == 1
    else:
        assert result.exit_code == 0


GRAPH = {
    "tensors": [3, 5, 5, 5, 2, 9],
    "ops": [
        {"inputs": [0], "outputs": [1], "type": "opCONV"},
        {"inputs": [1], "outputs": [2], "type": "opRESHAPE"},
        {"inputs": [2], "outputs": [3], "type": "SPLIT"},
        {"inputs": [3, 1, 3], "outputs": [4], "type": "ADD"},
    ],
    "inputs": [0, 5],
    "outputs": [4],
}


def test_a_tensor_of_a_graph_file_lives_from_the_operation_that_writes_it_to_the_last_that_reads_it():
    problem = read_problem(json.dumps(GRAPH).encode(), "g.json")
    order = best_order(problem.question)
    assert problem.buffers(order) == (
        Buffer("0", 3, 1, 0, 1, "io"),
        Buffer("1", 5, 1, 0, 4, "activation"),
        Buffer("2", 5, 1, 1, 3, "activation"),
        Buffer("3", 5, 1, 2, 4, "activation"),
        Buffer("4", 2, 1, 3, 4, "io"),
        Buffer("5", 9, 1, 0, 4, "io"),  # an input that nobody reads is there all the time
    )
    assert [problem.step_name(order, step) for step in (0, 3, 4)] == ["op 0 CONV", "op 3 ADD", "the start"]
    assert plan(problem.buffers(order)).peak_bytes == order.peak_bytes == 5 + 5 + 5 + 9  # of odd sizes, without gaps


@pytest.mark.parametrize(
    "changes, kept, read_by_the_last",
    [
        ({}, (0, 3), (1,)),  # each copy stands for what it copies, and no tensor is read twice
        ({"outputs": [4, 2]}, (0, 1, 3), (2, 1)),  # an output has bytes of its own
        ({"tensors": [3, 5, 4, 4, 2, 9]}, (0, 1, 3), (2, 1)),  # a copy has the size of what it copies
        ({"ops": [*GRAPH["ops"][:2], {**GRAPH["ops"][2], "type": "PAD"}, GRAPH["ops"][3]]}, (0, 2, 3), (3, 1)),
    ],
)
def test_operations_that_only_copy_are_left_out_on_demand(changes, kept, read_by_the_last):
    problem = read_problem(json.dumps({**GRAPH, **changes}).encode(), "g.json", drop_identities=True)
    assert (problem.numbers, problem.question.operations[-1].inputs) == (kept, read_by_the_last)


def test_a_capacity_that_is_too_small_is_refused_with_what_is_live(chain):
    result = aidge_build("plan", chain, "--capacity", 100)
    assert result.exit_code == 2 and "need 128 B, the arena has 100 B" in result.stderr
