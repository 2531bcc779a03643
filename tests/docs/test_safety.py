# SPDX-License-Identifier: MIT
"""The evidence of docs/safety.md: each requirement has a test, and each way of a branch in generated C is taken or explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aidge_build.base.errors import AidgeError
from aidge_build.prove.elf.findings import ERROR, RULES, Finding
from tests.programs import needs_cross_compiler
from tests.requirements import caused
from tools.safety import coverage, explained, matrix
from tools.safety.explained import Reason, explain
from tools.safety.marks import Marked, marked_tests
from tools.safety.measured import Coverage, Direction, missing
from tools.safety.networks import NETWORKS
from tools.safety.requirements import FINDINGS, PAGE, Requirement, requirements

ROOT = Path(__file__).resolve().parents[2]
WANTED = [Requirement("MEM01", "a memory overflows", FINDINGS), Requirement("MEM02", "an arena is elsewhere", FINDINGS)]
TESTS = """
import pytest
def test_without_a_mark(): pass
@pytest.mark.requirement("MEM01", "G3")
def test_two(): pass
@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.requirement("MEM02"))])
def test_of_one_case(n): pass
@pytest.mark.skip
@pytest.mark.requirement("MEM03")
def test_that_never_runs(): pass
"""
COMPARED = Direction("f", "if (sum == 0) {", 0, 0, 7, 0, True)
OTHER_WAY = Direction("f", "if (sum == 0) {", 0, 1, 7, 5, True)


def written(folder: Path, text: str) -> Path:
    (folder / "tests").mkdir()
    (folder / "tests" / "test_some.py").write_text(text)
    return folder


def of_model(*ways: Direction) -> Coverage:
    return Coverage(NETWORKS[0], 1, 1, ways)


def test_each_requirement_has_a_test_and_the_page_shows_them():
    assert matrix.update(ROOT, only_check=True) == []


def test_a_finding_without_a_test_and_a_mark_that_names_nothing_are_faults():
    marked = [Marked("tests/test_a.py", "test_a", ("MEM01", "MEM99"))]
    assert matrix.faults(WANTED, marked) == [
        'MEM02 has no test: mark one with @pytest.mark.requirement("MEM02")',
        "tests/test_a.py: test_a names MEM99, which is no requirement of docs/safety.md, no finding and no refusal",
    ]


def test_marks_of_functions_and_of_cases_count_and_those_of_skipped_tests_do_not(tmp_path):
    found = [(one.function, one.names) for one in marked_tests(written(tmp_path, TESTS))]
    assert found == [("test_two", ("MEM01", "G3")), ("test_of_one_case", ("MEM02",))]


@pytest.mark.parametrize(
    "text, what",
    [
        ("import pytest\npytestmark = pytest.mark.requirement('G1')\n", "at the top of a file"),
        ("import pytest\nN = 'G1'\n@pytest.mark.requirement(N)\ndef test_a(): pass\n", "in quotes"),
        ("import pytest\n@pytest.mark.requirement()\ndef test_a(): pass\n", "in quotes"),
    ],
)
def test_a_mark_that_cannot_be_read_is_refused(tmp_path, text, what):
    with pytest.raises(AidgeError, match=what):
        marked_tests(written(tmp_path, text))


def test_a_marked_test_must_cause_its_findings_and_refusals():
    with caused({"MEM03", "GRAPH", "G3"}, is_case=False):
        Finding("MEM03", ERROR, "weights are in RAM")
        AidgeError("a cycle", code="GRAPH")
    with caused({"MEM03", "MEM04"}, is_case=True):
        Finding("MEM04", ERROR, "another model")
    with pytest.raises(pytest.fail.Exception, match="marked with MEM04, and nothing"), caused({"MEM03", "MEM04"}, is_case=False):
        Finding("MEM03", ERROR, "weights are in RAM")
    with pytest.raises(pytest.fail.Exception), caused({"MEM03"}, is_case=True):
        Finding("MEM04", ERROR, "another model")


def test_the_page_on_safety_names_every_finding_and_no_code_that_does_not_exist():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    first, last = text.index("## Failures and what detects them"), text.index("## What nothing detects")
    named = set(re.findall(r"\b[A-Z]{3,4}\d\d\b", text))
    assert {name for name in RULES if name not in text[first:last]} == set()
    assert named - {one.name for one in requirements(ROOT)} == set()


@pytest.mark.requirement("G10", "G21")
@pytest.mark.skipif(bool(missing()), reason=f"this machine lacks {', '.join(missing())}")
def test_each_way_of_each_branch_of_twelve_models_is_taken_or_explained():
    assert len(NETWORKS) == 12
    assert coverage.update(ROOT, only_check=True) == []


@needs_cross_compiler
def test_vectors_and_refused_calls_execute_every_instruction_of_the_interface_on_an_emulated_core(tmp_path):
    pytest.importorskip("unicorn")
    network = next(one for one in NETWORKS if one.name == "gas")
    found = coverage.measured_on_core(network, tmp_path)
    assert not any(name.startswith(("gas_run", "gas_verify", "gas_integrity")) for name in found.idle)
    assert 500 < found.instructions < 700 and found.idle.total() < 10
    assert found.ways - 10 < found.taken <= found.ways


def test_a_way_that_is_neither_taken_nor_explained_is_a_fault():
    (fault,) = explained.faults(explain([of_model(COMPARED, OTHER_WAY)], []), [])
    assert fault.startswith(NETWORKS[0].name + ": f: line 7 of N.c, `if (sum == 0) {`: way 0 is never taken: ")


def test_a_way_is_taken_elsewhere_explained_by_a_row_or_of_a_row_that_covers_nothing():
    row, idle = Reason("sum", "constants", "f", "why", "sum"), Reason("idle", "machine", "g", "why")
    (first, second) = explain([of_model(COMPARED, OTHER_WAY), of_model(Direction("f", COMPARED.text, 0, 0, 9, 1, True))], [row])
    assert (first.elsewhere, first.unexplained, second.elsewhere) == (1, (), 0)
    alone = explain([of_model(COMPARED, OTHER_WAY)], [row, idle])
    assert alone[0].reasons == {"sum": 1}
    assert explained.faults(alone, [row, idle]) == ["idle covers nothing any more: take it out of untaken.toml"]


def test_a_reason_on_data_names_tests_and_no_other_reason_does(tmp_path, monkeypatch):
    rows = {"data": 'test = "tests/none.py"', "constants": 'test = "tests/docs/test_safety.py"', "guess": ""}
    for kind, more in rows.items():
        (tmp_path / "rows.toml").write_text(f'[[reason]]\nname = "a"\nkind = "{kind}"\nfunctions = "f"\nwhy = "w"\n{more}\n')
        monkeypatch.setattr(explained, "TABLE", tmp_path / "rows.toml")
        with pytest.raises(AidgeError, match=f"rows.toml: a: kind {kind}"):
            explained.reasons()


def test_a_branch_that_goes_otherwise_for_other_vectors_is_not_decided_by_constants():
    row = Reason("sum", "constants", "f", "why", "sum")
    (fault,) = explained.faults(explain([of_model(COMPARED, Direction("f", COMPARED.text, 0, 1, 7, 5, False))], [row]), [row])
    assert "goes otherwise for other vectors" in fault
    assert explained.faults(explain([of_model(COMPARED, OTHER_WAY)], [row]), [row]) == []
