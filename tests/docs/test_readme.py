# SPDX-License-Identifier: MIT
"""The README is short, its first screen shows what it is, and its figures are recorded ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from aidge_build.measure.packages import load_target, targets
from tests.build.checkout import scons_in
from tests.docs.blocks import blocks
from tests.small_model import small_model
from tools.docs import results

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
LINES = TEXT.splitlines()


def page(name: str) -> str:
    return (ROOT / name).read_text()


def test_it_has_80_lines_of_which_25_are_the_first_screen():
    screen = LINES[: next(number for number, line in enumerate(LINES) if "results.svg" in line) + 1]
    assert len(LINES) <= 80 and len(screen) <= 25
    assert all(word in "\n".join(screen) for word in ("pip install", "aidge-build fit", "aidge-build new", "scons run", "CHECK"))


def test_the_table_of_results_is_made_of_the_recorded_figures():
    assert results.with_table(TEXT, ROOT) == TEXT, "python -m tools.docs.results writes it anew"
    assert results.table(*results.recorded(ROOT)) in TEXT


def test_figures_between_words_are_those_of_the_pages():
    rows = json.loads(page("docs/benchmarks.json"))["results"]
    (row,) = (row for row in rows if (row["model"], row["board"], row["data"]) == ("vww_mobilenet025", "mps2-an386", "int8"))
    assert f"{row['macs_executed'] / 1e6:.2f} of its {row['macs'] / 1e6:.2f} M MACs" in TEXT
    others = page("docs/benchmarks.md").partition("## Other weights")[2]
    (all_channels,) = re.findall(r"^\| vww_mobilenet025 \| cortex-m4 \| [\d,]+ \| ([\d,]+) \|", others, re.MULTILINE)
    assert f"({int(all_channels.replace(',', '')) / 1e6:.2f} M instructions)" in TEXT
    (cases,) = re.findall(r"([\d,]+ of [\d,]+ node tests)", TEXT)
    assert cases in page("docs/kit.md")


def test_versions_are_those_that_the_pages_say_were_tried():
    (builds,) = re.findall(r"^\| builds \|(.*)", TEXT, re.MULTILINE)
    tried = page("docs/builds.md")
    for first, last in re.findall(r"(\w+ [\d.]+)(?: to ([\d.]+))?", builds):
        assert first in tried and last in tried, (first, last)
    pythons = re.findall(r"Python :: (3\.\d+)", page("pyproject.toml"))
    assert f"Python {pythons[0]} to {pythons[-1]}" in TEXT and all(f"{version}." in tried for version in pythons)
    (packages,) = re.findall(r"^\| packages \|(.*) \(", TEXT, re.MULTILINE)
    named = {name.lower().replace("-", "").strip() for name in packages.split(",")}
    assert len(named) == 7 and named < {name.replace("-", "") for name in targets() if load_target(name).tool}
    (compilers,) = re.findall(r"\[(gcc[^\]]*)\]", TEXT)
    assert all(version in page("docs/builds.md") for version in re.findall(r"\d+\.\d+", compilers))


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)]+)\)", TEXT))))
def test_each_link_leads_to_a_file_and_a_place_in_it(link):
    file, _, place = link.partition("#")
    assert (ROOT / file).is_file()
    heads = re.findall(r"^#+ (.*)$", page(file), re.MULTILINE) if place else []
    assert not place or place in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_lines_for_scons_are_a_whole_sconstruct(tmp_path):
    (block,) = (block for block in blocks("README.md") if "AidgeModel" in block.text and block.language == "python")
    (tmp_path / "SConstruct").write_text(block.text)
    (tmp_path / "models").mkdir()
    (tmp_path / "models/kws.onnx").write_bytes(small_model())
    (tmp_path / "main.c").write_text('#include "kws.h"\nint main(void) { return KWS_INPUT_SIZE != 8; }\n')
    assert "arena kws" in scons_in(tmp_path)
