# SPDX-License-Identifier: MIT
"""A fixed sample of the ONNX cases as generated C, on the host and an emulated Cortex-M4; `./sconsw conformance` runs all."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy
import pytest

from aidge_build.measure.conformance.cases import listed_names
from aidge_build.measure.conformance.run import _difference
from aidge_build.measure.conformance.suites import COLLECTIONS, SANITIZED, run_cases
from aidge_build.measure.conformance.table import Suite, page
from aidge_build.sources.onnx_format.node_cases import node_cases, stored_cases
from tests.programs import needs_cross_compiler, needs_qemu

TABLE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
MACHINES = ("host", "mps2-an386", "qemu_riscv32", "qemu_riscv32_v", SANITIZED)
ROW = re.compile(r"^\| (test_\w+) \| (\w+) \| [^|]*" + r" \| ([^|]+)" * len(MACHINES) + r" \|", re.M)
PYTORCH = "pytorch-converted"
DISTANCE = re.compile(r"\d+ (ULP|LSB)")
BOUND_TO_FOLD = re.compile(r"test_(constant|shape(_\w+)?|size(_example)?)")  # their outputs are known from the model alone


def table() -> dict[str, str]:
    """The verdict of every case in the committed table."""
    return {name: verdict for name, verdict, *_ in ROW.findall(TABLE.read_text())}


def test_the_committed_table_lists_every_case_and_none_is_wrong():
    found = table()
    assert list(found) == [*listed_names(), *stored_cases(PYTORCH)]
    assert Counter(found[name] for name in listed_names()) == {"pass": 779, "folded": 14}
    folded = {name for name in found if found[name] == "folded"}
    assert folded == {name for name in listed_names() if BOUND_TO_FOLD.fullmatch(name)}
    assert Counter(found[name] for name in stored_cases(PYTORCH)) == {"pass": 82}


def test_the_committed_table_gives_the_distance_on_every_machine():
    text = TABLE.read_text()
    assert f"| {' | '.join(MACHINES)} |" in text
    assert all(DISTANCE.fullmatch(cell) for _, _, *cells in ROW.findall(text) for cell in cells)


def verdicts_of(machine: str, names: list[str], folder: Path, suite: str = "mcu-793") -> dict[str, str]:
    return {one.name: one.verdict for one in run_cases(machine, None, names, 2, str(folder), suite)}


def test_a_sample_of_the_cases_has_the_verdicts_of_the_table(tmp_path):
    known, names = table(), list(listed_names())[::24]
    assert verdicts_of("host", names, tmp_path) == {name: known[name] for name in names}


def test_a_sample_of_the_cases_is_clean_under_sanitizers(tmp_path):
    known, names = table(), list(listed_names())[4::48]
    assert verdicts_of(SANITIZED, names, tmp_path) == {name: known[name] for name in names}


@needs_cross_compiler
@needs_qemu
def test_a_twentieth_of_the_cases_has_the_verdicts_of_the_table_on_an_emulated_cortex_m4(tmp_path):
    known, names = table(), list(listed_names())[1::20]
    found = verdicts_of("mps2-an386", names, tmp_path)
    assert found == {name: known[name] for name in names} and Counter(found.values())["pass"] >= 35


def test_a_sample_of_the_models_converted_from_pytorch_passes(tmp_path):
    names = list(stored_cases(PYTORCH))[::3]
    assert set(verdicts_of("host", names, tmp_path, PYTORCH).values()) == {"pass"}


def test_a_wrong_value_is_seen():
    case = node_cases()["test_add"]
    (expected,) = case.expected
    assert _difference(case, [expected]) == ("", 0)
    reason, _ = _difference(case, [numpy.where(expected == expected.max(), 0, expected).astype(numpy.float32)])
    assert reason.startswith("output 0 differs")
    assert "float64" in _difference(case, [expected.astype(numpy.float64)])[0]


@pytest.mark.parametrize("name, cells", [("test_abs", "pass |  | 0 ULP"), ("test_add_int8", "pass |  | 0 LSB")])
def test_the_page_counts_the_verdicts(name, cells, tmp_path):
    suite = Suite("One", COLLECTIONS["mcu-793"].text, {"host": run_cases("host", None, [name], 1, str(tmp_path))})
    assert "1 pass" in suite.summary() and "0 wrong" in suite.summary()
    assert f"| {name} | {cells} |" in page([suite])
