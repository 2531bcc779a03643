# SPDX-License-Identifier: MIT
"""The pictures of README and docs are what their scripts make of the recorded figures."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.docs import results

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = json.loads((ROOT / "docs" / "benchmarks.json").read_text())
PEERS = tomllib.loads((ROOT / "tools" / "docs" / "peers.toml").read_text())


@pytest.mark.parametrize("name, text", results.pictures(ROOT).items())
def test_the_stored_picture_is_made_of_the_recorded_figures(name, text):
    assert (ROOT / "docs" / "static" / name).read_text() == text, "python -m tools.docs.results writes it anew"
    assert ElementTree.fromstring(text).find("{http://www.w3.org/2000/svg}title").text.startswith("MLPerf Tiny, int8.")


def test_every_bar_says_whether_it_was_measured_here_or_on_a_board_or_estimated():
    time, ram, instructions = results.panels(BENCHMARKS, PEERS)
    kinds = [[series.kind for series in panel.series] for panel in (time, ram, instructions)]
    assert kinds == [["estimate", "measured on the board"], ["measured", "measured"], ["measured", "measured"]]
    wide = results.picture(BENCHMARKS, PEERS, narrow=False)
    assert all(f">{series.name}, {series.kind}</text>" in wide for series in time.series)
    assert wide.count('class="estimate"') == 1 + len(results.MODELS)  # one in the legend


def test_no_title_or_legend_reaches_the_next_panel():
    """By the width of a letter in both fonts, in pixels."""
    for panel in results.panels(BENCHMARKS, PEERS):
        assert 9 * len(panel.title) < results.WIDE_PANEL
        assert all(15 + 6.3 * len(f"{series.name}, {series.kind}") < results.WIDE_PANEL for series in panel.series)


def test_times_are_of_one_chip_and_one_clock():
    """Ours are estimated for the chip that X-CUBE-AI was measured on; a chip beside another would say nothing."""
    time = results.panels(BENCHMARKS, PEERS)[0]
    boards = {figure["board"] for figure in PEERS["figure"] if figure["quantity"] == "cycles"}
    assert (time.title, boards) == ("ms, STM32U575 at 160 MHz", {"NUCLEO-U575ZI at 160 MHz"})
    row = results.rows_of(BENCHMARKS, "stm32u575")["kws_dscnn"]
    least, most = results.millions_between(row)
    assert least < row["cycles"] / 1e6 < most and row["milliseconds"] == round(row["cycles"] / 160e3, 4)


def test_the_figures_of_others_are_those_of_the_page_of_benchmarks():
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for kind, column in (("instructions", 5), ("arena", 7)):
        rows = [line.split(" | ") for line in re.findall(r"^\| (\w+ \| cortex-m4 \|.*)$", page, re.MULTILINE)]
        shown = {(row[0], *row[column : column + 1]) for row in rows}
        figures = [figure for figure in PEERS["figure"] if (figure["quantity"], figure["core"]) == (kind, "cortex-m4")]
        assert {(figure["model"], f"{figure['value']:,}") for figure in figures} <= shown and len(figures) == 5
    assert all(figure["date"] and figure["source"] for figure in PEERS["figure"])
