# SPDX-License-Identifier: MIT
"""The fuzzer's own judgement, a short run of it, and every input that once ended in a fault."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy
import onnx
import pytest

from aidge_build.contract.reference import cpu
from aidge_build.graph.view import GraphView
from aidge_build.measure.conformance.run import Verdict
from aidge_build.operators import builtin_operators
from aidge_build.sources.formats.onnx.importer import import_onnx
from tools.fuzz import (
    found,
    graphs,
    kinds,
    meaning,
    model_mutations,
    mutations,
    readers,
    record,
    session,
    smaller,
    telling,
    trial,
)
from tools.fuzz.seeds import models

ROOT = Path(__file__).resolve().parents[2]
needs_host_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
NEEDING_COMPILER = {"elf", "elf-headers", "plan", "maps", "updatable"}


def test_a_short_run_finds_nothing():
    wanted = ["board", "core", "tflite", "vectors", "packs", "trees", "cascade-plans"]
    command = [sys.executable, "-m", "tools.fuzz", *wanted, "first=70000", "count=3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("3 inputs from seed 70000: ") == len(wanted)


@needs_host_compiler
def test_random_networks_and_damaged_models_are_right_as_c_under_sanitizers(tmp_path):
    models = [*(graphs.made("graphs", seed) for seed in range(3)), *(graphs.made("mutants", seed) for seed in range(6))]
    judged = list(graphs.judge(models, tmp_path))
    assert [one for one in judged if one.is_fault] == []
    assert sum(one.outcome == "right" for one in judged) >= 3


def test_a_value_that_numpy_does_not_expect_is_a_fault(tmp_path, monkeypatch):
    def wrong(prepared, board, folder, flags):
        assert "-fsanitize=address,undefined" in flags
        return [Verdict(one.case.name, "wrong", "output 0 differs") for one in prepared]

    monkeypatch.setattr(graphs, "verdicts", wrong)
    (judged,) = graphs.judge([graphs.made("graphs", 1)], tmp_path)
    assert judged.is_fault and judged.detail == "output 0 differs"


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 0.0],
        [numpy.nan, numpy.inf],
        [2.5, 2.5],
        [0.0, numpy.inf],
        [],
        numpy.int8([-128, 127]),
        numpy.int8([0]),
        [True, True],
    ],
    ids=str,
)
def test_outputs_that_say_nothing_are_compared_in_vain(values, tmp_path, monkeypatch):
    assert not telling.telling([numpy.asarray(values)])
    assert telling.telling([numpy.asarray(values), numpy.float32([numpy.nan, 1, 2])]) and telling.telling([numpy.int8([-128, 5])])


def test_a_trial_whose_outputs_say_nothing_is_counted_as_that(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs, "telling", lambda expected: False)
    monkeypatch.setattr(graphs, "verdicts", lambda prepared, *rest: [Verdict(one.case.name, "pass") for one in prepared])
    (judged,) = graphs.judge([graphs.made("graphs", 1)], tmp_path)
    assert judged.outcome == "vacuous" and not judged.is_fault


def sum_of_levels(halves: float) -> tuple[GraphView, dict, dict]:
    """y = 1 * a + b in stored values, with a scale of y that is 1 / `halves` of theirs, and z = -y; the inputs of both and what
    numpy gives."""
    helper = onnx.helper
    names = {"a": 1.0, "b": 1.0, "y": 1.0 / halves, "z": 1.0 / halves}
    nodes = [helper.make_node("DequantizeLinear", [name, f"s{name}", "none"], [f"{name}_real"]) for name in "aby"]
    nodes.insert(2, helper.make_node("Add", ["a_real", "b_real"], ["sum"]))
    nodes.insert(3, helper.make_node("QuantizeLinear", ["sum", "sy", "none"], ["y"]))
    nodes.append(helper.make_node("Neg", ["y_real"], ["less"]))
    nodes.append(helper.make_node("QuantizeLinear", ["less", "sz", "none"], ["z"]))
    constants = [onnx.numpy_helper.from_array(numpy.float32(scale), f"s{name}") for name, scale in names.items()]
    constants.append(onnx.numpy_helper.from_array(numpy.int8(0), "none"))
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.INT8, [1, 4]) for name in names]
    graph = helper.make_graph(nodes, "g", ports[:2], ports[2:], constants)
    file = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    view, _ = import_onnx(file, "m", builtin_operators(), {}, {})
    inputs = {"a": numpy.int8([[1, 2, 3, 40]]), "b": numpy.int8([[0, 0, 4, -9]])}
    return view, inputs, cpu.run(view, inputs)


def test_an_adapted_graph_may_differ_in_the_middle_of_two_levels_alone():
    view, inputs, values = sum_of_levels(halves=0.5)  # 0.5, 1, 3.5, 15.5
    assert values["y"].tolist() == [[0, 1, 4, 16]] and meaning.difference(view, inputs, values) == ""
    assert meaning.difference(view, inputs, {"y": numpy.int8([[1, 1, 3, 15]])}) == ""
    for wrong in ([-1, 1, 4, 16], [0, 0, 4, 16], [0, 1, 5, 16]):
        assert "another meaning" in meaning.difference(view, inputs, {"y": numpy.int8([wrong])})


def test_what_follows_from_a_tensor_that_was_adapted_away_may_come_from_either_level_of_a_middle():
    view, inputs, _ = sum_of_levels(halves=0.5)
    for right in ([0, -1, -4, -16], [-1, -1, -3, -15]):
        assert meaning.difference(view, inputs, {"z": numpy.int8([right])}) == ""
    for wrong in ([1, -1, -4, -16], [0, -2, -4, -16], [0, -1, -4, 16]):
        assert "'z' of" in meaning.difference(view, inputs, {"z": numpy.int8([wrong])})


def test_floats_of_an_adapted_graph_are_near_those_of_the_file():
    view, inputs, values = sum_of_levels(halves=1.0)
    assert meaning.difference(view, inputs, values | {"sum": values["sum"] * (1 + 1e-5)}) == ""
    assert "another meaning" in meaning.difference(view, inputs, values | {"sum": values["sum"] * 1.01})


def test_an_adapted_graph_that_means_something_else_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs.meaning, "difference", lambda *arguments: "'y' is adapted to another meaning")
    (judged,) = graphs.judge([graphs.made("graphs", 1)], tmp_path)
    assert judged.is_fault and judged.outcome == "adapted wrongly"


def test_infinite_values_make_no_finite_one_close_to_another():
    assert telling.largest_finite([numpy.float32([numpy.inf, -3, numpy.nan]), numpy.int8([9])]) == 3.0


def test_a_number_where_onnxruntime_has_none_is_a_difference(monkeypatch):
    class Session:
        def __init__(self, *arguments, **words): ...

        def run(self, names, inputs):
            return [numpy.float32([1, numpy.nan])]

    onnxruntime = SimpleNamespace(
        InferenceSession=Session, SessionOptions=SimpleNamespace, GraphOptimizationLevel=SimpleNamespace(ORT_DISABLE_ALL=0)
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", onnxruntime)
    monkeypatch.setattr(graphs.importlib.util, "find_spec", lambda name: onnxruntime)
    model = graphs.made("graphs", 1)
    assert "away from onnxruntime's" in graphs._differs_from_onnxruntime(model, {}, [numpy.float32([1, 2])])


def test_what_nobody_foresaw_is_a_fault_with_its_place(monkeypatch):
    def fail(arguments):
        raise KeyError("x")

    monkeypatch.setattr("aidge_build.cli.options.run", fail)
    verdict = trial.run(["options"])
    assert verdict.kind == "our fault" and verdict.exit_code == 70 and "KeyError" in verdict.fault


def test_a_refusal_in_one_line_is_none():
    assert trial.run(["compile", "no.onnx", "--out", "no"]).kind == ""


def test_the_same_seed_gives_the_same_damage_and_another_one_another():
    def damaged(seed: int) -> tuple[bytes, bytes, bytes]:
        model = onnx.ModelProto.FromString(models()[seed % 3])
        model_mutations.damaged_model(model, Random(seed))
        mutations.damaged_message(model, Random(seed))
        file = mutations.damaged_bytes(model.SerializeToString(deterministic=True), Random(seed))
        return file, readers.damaged_text(b"reg = <0x10 0x2000>; a b c", Random(seed)), graphs.made("graphs", seed).file

    assert [damaged(seed) for seed in range(9)] == [damaged(seed) for seed in range(9)]
    for files in zip(*map(damaged, range(9))):
        assert len(set(files)) >= 8


def test_a_crash_is_a_fault_of_its_seed_and_the_others_are_tried(monkeypatch):
    class Crashing:
        def __init__(self, folder):
            self.path = folder / "file"

        def damaged(self, chance):
            self.path.write_bytes(b"abc")
            return ["options"]

    def run(words):
        if next(numbers) == 2:
            os._exit(9)
        return trial.Verdict(0)

    monkeypatch.setitem(kinds.KINDS, "crashing", Crashing)
    monkeypatch.setattr(trial, "limit_memory", lambda: None)
    monkeypatch.setattr(trial, "run", run)
    numbers = iter(range(5))
    first = session.run("crashing", range(3))
    assert first.outcomes == {"0": 2, "crash": 1} and [fault.seed for fault in first.faults.values()] == [2]


def test_a_fault_is_stored_with_what_it_needs_of_its_input_alone(tmp_path):
    def fails(data: bytes) -> bool:
        return b"x" in data and b"y" in data

    assert smaller.smaller_bytes(b"aaaaxbbbbyccc" * 3, fails) in (b"xy", b"yx")
    model = onnx.ModelProto.FromString(models()[0])

    def has_pool(data: bytes) -> bool:
        return any(node.op_type == "MaxPool" for node in onnx.ModelProto.FromString(data).graph.node)

    small = onnx.ModelProto.FromString(smaller.smaller_model(model.SerializeToString(), has_pool))
    assert [node.op_type for node in small.graph.node] == ["MaxPool"] and not small.graph.initializer
    fault = session.Fault("board", 7, "our fault KeyError x.py:1", "", ("boards", "mine"), b"xy")
    assert found.store(fault, tmp_path) == tmp_path / "board-7" and found.store(fault, tmp_path) is None
    assert found.stored(tmp_path) == [found.Found("board", 7, fault.what, ("boards", "mine"), b"xy")]


def test_runs_are_recorded_one_behind_the_other(tmp_path):
    path = tmp_path / "record.json"
    record.add("board", 0, {"2": 3, "0": 1}, [], path)
    record.add("board", 4, {"0": 2}, ["seed 5: x"], path)
    record.add("board", 9, {"0": 1}, [], path)
    runs = record.read(path)
    assert [(run["first"], run["count"]) for run in runs] == [(0, 6), (9, 1)] and runs[0]["outcomes"] == {"0": 3, "2": 3}
    assert record.next_seed(runs, "board") == 10 and record.next_seed(runs, "core") == 0
    assert record.totals(runs) == {"board": (7, 1)} and json.loads(path.read_text())["runs"] == runs


def test_what_is_recorded_found_no_fault_that_is_not_stored():
    stored = {(one.kind, identity) for one in found.stored() for identity in (one.seed, one.what)}
    for run in record.read():
        assert sum(run["outcomes"].values()) == run["count"]
        for fault in run["faults"]:
            seed, what = fault.removeprefix("seed ").split(": ", 1)
            assert {(run["kind"], int(seed)), (run["kind"], what)} & stored


@needs_host_compiler
def test_what_once_was_wrong_as_c_is_right(tmp_path):
    models = [graphs.kept(one.kind, one.seed, one.data, one.words) for one in found.stored() if one.kind in session.COMPILED]
    judged = list(graphs.judge(models, tmp_path))
    assert len(judged) > 2 and [one for one in judged if one.is_fault] == []


@pytest.mark.parametrize(
    "one", [one for one in found.stored() if one.kind in kinds.KINDS], ids=lambda one: f"{one.kind}-{one.seed}"
)
def test_what_once_ended_in_a_fault_ends_as_it_should(one, tmp_path):
    if one.kind in NEEDING_COMPILER and shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    kind = kinds.KINDS[one.kind](tmp_path)
    kind.path.write_bytes(one.data)
    words = [word.replace("{file}", str(kind.path)).replace("{folder}", str(tmp_path)) for word in one.words]
    assert trial.run(words).kind == ""
