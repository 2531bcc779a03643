# SPDX-License-Identifier: MIT
"""The comparison with other tools: each figure has a source and a date, and this project's own are those of its files.

That the page is what the script writes is a case of test_reference.py."""

from __future__ import annotations

import json
import re
import shutil
from argparse import ArgumentParser
from dataclasses import replace

import pytest

from aidge_build.boards import load_board
from aidge_build.build.inputs import add_model_arguments, load
from aidge_build.measure.bench.measure import Case, measure
from tests.docs.blocks import EVERYTHING, ROOT
from tools.docs import comparison
from tools.docs.comparison import (
    BOUNDED,
    KINDS,
    OURS,
    WORDS,
    bounded_estimates,
    comparison_page,
    own_figures,
    pinned_figures,
    read,
)

DATA, PEERS = read("comparison.toml"), read("peers.toml")
PINNED = [*PEERS["figure"], *DATA["figure"], *DATA["ahead"]]
ESTIMATES = [entry for entry in DATA["figure"] if entry["tool"].startswith(OURS)]
PAGE = "\n".join(comparison_page())
NETWORKS = comparison.MODELS
MODELS = ROOT.parent / "shared" / "models" / "mlperf_tiny"


def test_each_pinned_fact_has_a_source_and_a_date():
    for entry in PINNED:
        assert len(entry["source"]) > 9 and re.fullmatch(r"20\d\d-[01]\d(-[0-3]\d)?", entry["date"]), entry


def test_every_figure_is_measured_the_vendors_or_an_estimate_and_is_there_once():
    assert {entry["kind"] for entry in [*PEERS["figure"], *DATA["figure"]]} <= set(KINDS)
    keys = [(each.model, each.tool, each.core, each.board) for each in pinned_figures()]
    assert len(keys) == len(set(keys)) > 30


def test_every_tool_has_a_date_and_every_capability_a_word_for_each_tool():
    assert all(re.fullmatch(r"20\d\d-\d\d", tool["date"]) and tool["read"] for tool in DATA["tool"])
    for row in DATA["capability"]:
        cells = row["cells"].split()
        assert len(cells) == len(DATA["tool"]) and {row["us"], *cells} <= set(WORDS), row["name"]
        assert row["us"] != "y" or (ROOT / "docs" / row.get("page", "comparison.md")).is_file(), row["name"]


def test_the_rows_where_others_are_ahead_come_first():
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE)[0] == "Other tools are ahead"
    subjects = re.findall(r"^\| ([^|]+) \|", PAGE.partition("## Time of")[0], re.MULTILINE)[1:]
    assert subjects[:3] == ["NPU", "figures from silicon", "visual wake words with all channels"]


def test_a_figure_is_in_the_column_of_its_kind():
    rows = {tuple(line.split(" | ")[:2]): line.split(" | ")[2:] for line in PAGE.splitlines() if line.startswith("| ")}
    measured, vendors, estimated = rows[("| keyword spotting, DS-CNN", "Cortex-M4")]
    assert "43.4 ms at 120 MHz, 5.21 M (X-CUBE-AI 10.2)" in measured and vendors == "-"
    assert re.match(rf"[\d.]+ ms \([\d.]+ to [\d.]+\) at 168 MHz, [\d.]+ M \({OURS} on stm32f4\); ", estimated)
    measured, vendors, estimated = rows[("| MobileNetV1-0.25, 96x96x3", "Cortex-M7")]
    assert measured == "-" and "(Cube.AI 10.0)" in vendors and estimated == "- |"


def test_this_projects_figures_are_those_of_its_files(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    for name in ("benchmarks.json", "kit.md", "conformance.md"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    recorded = json.loads((ROOT / "docs" / "benchmarks.json").read_text())
    for entry in recorded["results"]:
        entry["cycles"] = entry["cycles"] and 77_700_000
    (tmp_path / "docs" / "benchmarks.json").write_text(json.dumps(recorded))
    kit = tmp_path / "docs" / "kit.md"
    kit.write_text(kit.read_text().replace(" of 1,884 node tests", " of 9,999 node tests"))
    monkeypatch.setattr(comparison, "ROOT", tmp_path)
    page = "\n".join(comparison_page())
    shown = {(entry["model"], entry["board"]) for entry in recorded["results"] if entry["data"] == "int8" and entry["clock_hz"]}
    assert (
        len(re.findall(r" MHz, 77\.7 M \(aidge_build on ", page)) == len(shown) == 30
        and "The 77.70 M cycles of the table" in page
        and " of 9,999 node tests" in page
    )


def test_no_place_of_a_machine_or_a_registry_is_on_the_page():
    assert not re.search(r"https?:|/(?:work|home|tmp|root|usr)/|pypi", PAGE, re.IGNORECASE)


def test_every_measured_result_of_another_tool_is_above_our_estimate():
    """Wait states and other kernels take time: an estimate above such a result would be wrong, or of slower code."""
    pairs = bounded_estimates([*pinned_figures(), *own_figures()])
    assert {own.core for own, _ in pairs} == set(BOUNDED) and len(pairs) == 18
    assert all(own.millions < bound.millions for own, bound in pairs)


@pytest.mark.parametrize("board", comparison.STALLS.values())
def test_with_the_stalls_of_a_board_each_estimate_is_below_the_result_of_st_there(board):
    """The sentence above the table."""
    figures = [*pinned_figures(), *own_figures()]
    own, st = (
        {each.model: each.millions for each in figures if each.tool == name and on in each.board and each.model in NETWORKS}
        for name, on in ((OURS, board), ("X-CUBE-AI 10.2", board.upper().replace("STM32", "NUCLEO-")))
    )
    assert own.keys() == st.keys() and len(st) == 5
    assert all(own[name] < st[name] for name in st)


@pytest.mark.skipif(not EVERYTHING, reason="measures a model of MLPerf Tiny: ./sconsw conformance docs")
@pytest.mark.skipif(not MODELS.is_dir(), reason="the models are not there")
@pytest.mark.parametrize("pinned", ESTIMATES, ids=lambda pinned: f"{pinned['run']} {pinned['model']}")
def test_the_pinned_estimate_of_this_project_is_what_it_measures(pinned):
    """A Cortex-M85 has no emulator here, and gcc no code for it: its table times the code of a Cortex-M55."""
    name, options = pinned["model"].partition(" ")[0], pinned["run"].split()
    board = load_board(options[0].removeprefix("--board="), [])
    case = Case(name, "int8", MODELS / f"{name}_int8_qdq.onnx", MODELS / f"{name}_io.npz")
    parser = ArgumentParser()
    add_model_arguments(parser)
    request = load(parser.parse_args([*options, "--", str(case.path)]), name)
    timed = replace(board, core=replace(board.core, timing=pinned["core"]))
    figures = measure(case, request, timed, "y_ort_qdq")
    assert (figures.cycles, figures.stall_cycles or 0, figures.differing_values) == (pinned["value"], pinned.get("stalls", 0), 0)
