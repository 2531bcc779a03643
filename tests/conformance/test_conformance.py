# SPDX-License-Identifier: MIT
"""A fixed sample of the ONNX node cases as generated C on the host and an emulated Cortex-M4; `./sconsw conformance` runs all of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy
import pytest

from aidge_build.cli.conformance import run_cases
from aidge_build.conformance.cases import listed_names
from aidge_build.conformance.run import _difference
from aidge_build.conformance.table import page, summary
from aidge_build.onnx_format.node_cases import node_cases
from tests.programs import needs_cross_compiler, needs_qemu

TABLE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
ROW = re.compile(r"^\| (test_\w+) \| (\w+) \|", re.M)
LARGE = re.compile("3d_d|lppool_3d|maxpool_3d|averagepool_3d|_mish")  # too large for the time of the suite on the emulator


def table() -> dict[str, str]:
    """The verdict of every case in the committed table."""
    return dict(ROW.findall(TABLE.read_text()))


def test_the_committed_table_lists_every_case_and_none_is_wrong():
    found = table()
    assert list(found) == list(listed_names())
    counts = Counter(found.values())
    assert counts["wrong"] == 0 and counts["pass"] >= 747 and counts["pass"] + counts["folded"] >= 774


def test_a_sample_of_the_cases_has_the_verdicts_of_the_table(tmp_path):
    known, names = table(), list(listed_names())[::8]
    found = run_cases("host", None, names, (), 2, str(tmp_path))
    assert {one.name: one.verdict for one in found} == {name: known[name] for name in names}


@needs_cross_compiler
@needs_qemu
def test_a_sample_of_the_cases_passes_on_an_emulated_cortex_m4(tmp_path):
    names = [name for name, verdict in table().items() if verdict == "pass" and not LARGE.search(name)][::7]
    found = run_cases("mps2-an386", None, names, (), 2, str(tmp_path))
    assert [one for one in found if one.verdict != "pass"] == []


def test_a_wrong_value_is_seen():
    case = node_cases()["test_add"]
    (expected,) = case.expected
    assert _difference(case, [expected]) == ("", 0)
    reason, _ = _difference(case, [numpy.where(expected == expected.max(), 0, expected).astype(numpy.float32)])
    assert reason.startswith("output 0 differs")
    assert "float64" in _difference(case, [expected.astype(numpy.float64)])[0]


@pytest.mark.parametrize("kind, count", [("pass", 1), ("wrong", 0)])
def test_the_page_counts_the_verdicts(kind, count, tmp_path):
    found = run_cases("host", None, ["test_abs"], (), 1, str(tmp_path))
    assert f"{count} {kind}" in summary(found) and "| test_abs | pass |" in page(found, "host")
