# SPDX-License-Identifier: MIT
"""Tuning: every kernel measured at every layer, interrupted or not; what `--select cost` then chooses is faster, and right."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest

import aidge_build.cli.tune as verb
from aidge_build.boards import load_board
from aidge_build.measure.sweep.store import opened
from aidge_build.prepare.adaptation.shipped import FOLDER
from tests.command import Result, aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler
from tests.shared import MLPERF_TINY, shared
from tests.sweep_work import Stopping
from tests.untuned_networks import NETWORKS, untuned

pytestmark = needs_cross_compiler
TEXT = """
    rx = DequantizeLinear(x, s, z)
    rg = DequantizeLinear(g, s, z)
    p = Mul(rx, rg)
    y = QuantizeLinear(p, s, z)
"""
in_stress = pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="in stress: minutes")
BOARDS = {"mps2-an386": 1, "mps2-an500": 1, "mps2-an505": 1, "mps3-an547": 0}  # how many untuned networks gain at least
LIBRARIES = ("--board", "stm32f4", "--lib", "armv7m,cortexm")
TASKS = 1 + 3  # how many builds there are, and those with each of the three kernels of the product


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("tune")
    constants = {"s": numpy.float32(0.05), "z": numpy.int8(3)}
    inputs = "int8[144,6] x, int8[1,6] g"
    (made / "gate.onnx").write_bytes(model(TEXT, inputs=inputs, outputs="int8[144,6] y", constants=constants))
    return made


@pytest.fixture(scope="module")
def whole(folder) -> Result:
    return tune(folder, "whole.toml", "--jobs", 1)


def tune(folder: Path, out: str, *words) -> Result:
    return aidge_build("tune", folder / "gate.onnx", *LIBRARIES, "--out", folder / out, "--json", *words)


def test_the_kernel_that_was_faster_is_chosen_and_takes_so_many_times_as_much(folder, whole):
    (one,) = whole.json["quicker"]
    assert (one["library"], one["than"], one["layers"], whole.json["tasks"]) == ("cortexm", "armv7m mul_int8", 1, TASKS)
    words = ("explain", folder / "gate.onnx", *LIBRARIES, "--measure", "--json")
    usual = aidge_build(*words).json
    chosen = aidge_build(*words, "--select", "cost", "--cost-table", folder / "whole.toml").json
    before, after = (next(node for node in found["nodes"] if node["op"] == "Mul") for found in (usual, chosen))
    assert (before["library"], after["library"]) == ("armv7m", "cortexm")
    assert after["instructions"] / before["instructions"] == pytest.approx(one["ratio"], abs=1e-4)


def test_tuning_that_is_interrupted_goes_on_where_it_was_and_writes_the_same_bytes(folder, whole, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(verb, "crew_of", lambda arguments: Stopping(1, interrupt))
    stopped = tune(folder, "stopped.toml")
    assert stopped.exit_code == 130 and "stopped.sqlite keeps what was measured" in stopped.stderr
    assert not (folder / "stopped.toml").exists()
    monkeypatch.undo()
    found = tune(folder, "stopped.toml", "--jobs", 1)
    assert (found.json["tasks"], found.json["reused"]) == (TASKS - 2, 2)
    assert (folder / "stopped.toml").read_bytes() == (folder / "whole.toml").read_bytes()
    assert tune(folder, "stopped.toml", "--jobs", 1).json["tasks"] == 0


@in_stress
def test_two_processes_write_the_same_bytes(folder, whole):
    assert tune(folder, "two.toml", "--jobs", 2).exit_code == 0
    assert (folder / "two.toml").read_bytes() == (folder / "whole.toml").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--board: the board that measures is missing"),
        ((*LIBRARIES, "--layers", 0), "--layers: wants a positive number, got 0"),
        (("--board", "m2354", "--unit", "cycles"), "cycles of this core are not estimated"),
        (("--board", "host"), "instructions cannot be counted"),
    ],
)
def test_what_cannot_be_tuned_is_said_and_no_table_is_written(folder, tmp_path, words, message):
    found = aidge_build("tune", folder / "gate.onnx", *words, "--out", tmp_path / "t.toml", "--jobs", 1)
    assert found.exit_code in (2, 3) and message in found.stderr and not (tmp_path / "t.toml").exists()


def test_models_that_no_kernel_takes_are_named_and_the_others_are_measured(folder, tmp_path):
    (tmp_path / "sine.onnx").write_bytes(model("y = Sin(x)", inputs="float[4] x", outputs="float[4] y"))
    words = ("--store", folder / "whole.sqlite", "--jobs", 1, "--json", "--out", tmp_path / "t.toml")
    found = aidge_build("tune", tmp_path / "sine.onnx", folder / "gate.onnx", *LIBRARIES, *words)
    assert found.exit_code == 0 and len(found.json["quicker"]) == 1
    assert [line.split(":")[0] for line in found.json["refused"]] == ["sine.onnx"]
    alone = aidge_build("tune", tmp_path / "sine.onnx", *LIBRARIES, *words[:-1], tmp_path / "no.toml")
    assert alone.exit_code == 2 and "no model could be measured" in alone.stderr and not (tmp_path / "no.toml").exists()


def test_a_file_with_answers_that_are_none_is_refused(folder, whole, tmp_path):
    with opened(folder / "whole.sqlite") as store, opened(tmp_path / "bad.sqlite") as bad:
        bad.add(dict.fromkeys(store.all_answers(), b"{}"))
    found = tune(folder, "bad.toml", "--store", tmp_path / "bad.sqlite", "--jobs", 1)
    assert found.exit_code == 2 and "an answer in the file is damaged" in found.stderr


@in_stress
@pytest.mark.parametrize("board", BOARDS)
def test_the_shipped_table_makes_no_model_slower_or_larger_and_some_untuned_ones_faster(tmp_path, board):
    for network in NETWORKS:
        (tmp_path / f"{network.__name__}.onnx").write_bytes(untuned(network).SerializeToString())
    gained = {name: before - after for name, (before, after) in compared(tmp_path, board).items()}
    assert sum(gain > 0 for gain in gained.values()) >= BOARDS[board], gained
    compared(shared(MLPERF_TINY), board, "--data", "int8")


def compared(folder: Path, board: str, *words) -> dict[str, tuple[int, int]]:
    """Instructions of each model with the preferred kernels and with the faster ones; no model takes more of anything."""
    (table,) = [path for path in FOLDER.glob("*.toml") if set(path.stem.split("-")) == load_board(board, []).features]
    command = ("bench", folder, "--boards", board, "--vectors", 1, *words, "--json")
    usual, chosen = (aidge_build(*command, *more).json["results"] for more in ((), ("--cost-table", table)))
    assert len(usual) >= 5
    for before, after in zip(usual, chosen, strict=True):
        for figure in ("instructions", "peak_bytes", "arena_bytes"):
            assert after[figure] <= before[figure], (after["model"], figure)
        assert after["differing_values"] == 0
    return {before["model"]: (before["instructions"], after["instructions"]) for before, after in zip(usual, chosen, strict=True)}
