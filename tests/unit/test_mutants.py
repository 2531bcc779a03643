# SPDX-License-Identifier: MIT
"""The tool that puts faults into the rooms that prove things: it finds every place, and what it lists as equivalent exists."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.mutants import collected, trial
from tools.mutants.__main__ import UNTRIED, _end, sampled
from tools.mutants.equivalent import argued
from tools.mutants.guards import BUDGET, Guard, chosen
from tools.mutants.rooms import ROOMS
from tools.mutants.sites import Mutant, mutants, mutated
from tools.mutants.trial import Verdict, verdicts

ROOT = Path(__file__).resolve().parents[2]

TEXT = '''"""A module."""
LIMIT = 7

def fits(size: int = 0) -> bool:
    """Whether it fits."""
    total: int = len(list(zip("a", "b", strict=True)))
    shown: bool = field(default=False, repr=False)
    if 0 < size <= LIMIT and size != 3:
        total = size.reshape(-1, 2)
        return True
    return False
'''


def changes(text: str) -> set[tuple[str, str, str]]:
    return {(mutant.kind, mutant.before, mutant.after) for mutant in mutants("m.py", text)}


def test_every_comparison_constant_connective_and_statement_is_changed_once():
    condition = "if 0 < size <= LIMIT and size != 3:"
    assert changes(TEXT) == {
        ("constant", "LIMIT = 7", "LIMIT = 8"),
        ("constant", "LIMIT = 7", "LIMIT = 6"),
        ("constant", "def fits(size: int=0) -> bool:", "def fits(size: int=1) -> bool:"),
        ("constant", "def fits(size: int=0) -> bool:", "def fits(size: int=-1) -> bool:"),
        ("statement", condition, "pass"),
        ("comparison", condition, "if 0 <= size <= LIMIT and size != 3:"),
        ("comparison", condition, "if 0 < size < LIMIT and size != 3:"),
        ("comparison", condition, "if 0 < size <= LIMIT and size == 3:"),
        ("and/or", condition, "if 0 < size <= LIMIT or size != 3:"),
        ("constant", condition, "if 1 < size <= LIMIT and size != 3:"),
        ("constant", condition, "if -1 < size <= LIMIT and size != 3:"),
        ("constant", condition, "if 0 < size <= LIMIT and size != 4:"),
        ("constant", condition, "if 0 < size <= LIMIT and size != 2:"),
        ("statement", "total: int = len(list(zip('a', 'b', strict=True)))", "pass"),
        ("statement", "shown: bool = field(default=False, repr=False)", "pass"),
        ("constant", "shown: bool = field(default=False, repr=False)", "shown: bool = field(default=True, repr=False)"),
        ("statement", "total = size.reshape(-1, 2)", "pass"),
        ("constant", "total = size.reshape(-1, 2)", "total = size.reshape(-1, 3)"),
        ("constant", "total = size.reshape(-1, 2)", "total = size.reshape(-1, 1)"),
        ("statement", "return True", "pass"),
        ("constant", "return True", "return False"),
        ("constant", "return False", "return True"),
    }


def test_the_tree_of_a_mutant_holds_its_change_and_no_other():
    whole = ast.unparse(ast.parse(TEXT)).splitlines()
    for mutant in mutants("m.py", TEXT):
        lines = ast.unparse(mutated(TEXT, mutant)).splitlines()
        if mutant.kind != "statement":
            assert [line.strip() for line in lines if line not in whole] == [mutant.after]
        else:
            assert "pass" in (line.strip() for line in lines) and len(lines) <= len(whole)


def test_an_assert_that_narrows_a_type_for_the_type_checker_is_not_changed():
    text = """def size_of(a, b):
    assert a is not None and b is not None
    assert isinstance(a, tuple) and b.known
    assert a != b
"""
    assert changes(text) == {("comparison", "assert a != b", "assert a == b"), ("statement", "assert a != b", "pass")}


def ended(guards: list[str]) -> Verdict:
    """What becomes of the fault `1 + 3` in sums.py of the current folder, tried with these tests."""
    fault = next(mutant for mutant in mutants("sums.py", Path("sums.py").read_text()) if mutant.after.endswith("1 + 3"))
    return next(verdicts([(fault, [Guard(name, 1.0, frozenset()) for name in guards])], Path.cwd(), 1))


def test_a_mutant_is_killed_only_by_a_test_that_passes_without_the_fault(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sums.py").write_text("def three():\n    return 1 + 2\n")
    Path("test_sums.py").write_text("""import sums
def test_three(): assert sums.three() == 3
def test_always(): assert sums.three()
def test_full_disk(): raise OSError("no space left on device")
""")
    kill, life, fail = (ended([f"test_sums.py::{name}"]) for name in ("test_three", "test_always", "test_full_disk"))
    assert (kill.killer, kill.error) == ("test_sums.py::test_three", "")
    assert (life.killer, life.error, life.passed) == ("", "", 1)
    assert (fail.killer, fail.error) == (
        "",
        "test_sums.py::test_full_disk; without the fault: [1, 'test_sums.py::test_full_disk']",
    )


def test_memory_that_tests_leave_in_cycles_is_no_fault(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sums.py").write_text("three = 1 + 2\n")
    Path("test_sums.py").write_text("""import mmap, pytest
@pytest.mark.parametrize("place", range(16))
def test_emulator(place):
    cycle = [mmap.mmap(-1, 1 << 30)]
    cycle.append(cycle)
""")
    verdict = ended(["test_sums.py"])
    assert (verdict.killer, verdict.error) == ("", "")


def test_the_limit_of_memory_holds_for_a_trial_and_not_for_the_programs_that_tests_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sums.py").write_text("three = 1 + 2\n")
    Path("test_sums.py").write_text("""import resource, subprocess, sys
from tools.testmap.session import MEMORY_LIMIT
LIMITED = "import resource; raise SystemExit(resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY)"
def test_program():
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", LIMITED]).returncode == 0
        assert resource.getrlimit(resource.RLIMIT_AS)[0] == MEMORY_LIMIT
""")
    verdict = ended(["test_sums.py"])
    assert (verdict.killer, verdict.error) == ("", "")


SUMS = """import functools, os, signal
LIMIT = 3
def three():
    return 3
def unchecked():
    return 3
def nested():
    def inner():
        return 3
    return inner()
def while_collecting():
    return 3
def endless():
    number = 2
    while number % 2: pass
def aborted():
    status = 0
    if status: os.abort()
def ended():
    status = 0
    if status: os.kill(os.getpid(), signal.SIGKILL)
class Sums:
    @property
    def shown(self):
        return 3
    @functools.cached_property
    def lasting(self):
        return 3
    @staticmethod
    @functools.cache
    def kept():
        return 3
    @classmethod
    def of_class(cls):
        return 3
class Other(Sums):
    def __init__(self):
        super().__init__()
"""
TESTS_OF_SUMS = """import sums
def test_limit(): assert sums.LIMIT == 3
def test_three(): assert sums.three() == 3
def test_unchecked(): assert sums.unchecked()
def test_nested(): assert sums.nested() == 3
COLLECTED = sums.while_collecting()
def test_collected(): assert COLLECTED == 3
def test_endless(): sums.endless()
def test_aborted(): sums.aborted()
def test_ended(): sums.ended()
def test_shown(): assert sums.Sums().shown == 3
def test_lasting(): assert sums.Sums().lasting == 3
def test_kept(): assert sums.Sums.kept() == 3
def test_of_class(): assert sums.Sums.of_class() == 3
def test_other(): assert sums.Other()
"""
# Function of SUMS with a fault -> the test that comes by, what kills the mutant, and why it could not be tried.
FORKED = {
    "three": ("test_three", "test_sums.py::test_three", ""),
    "unchecked": ("test_unchecked", "", ""),
    "nested.inner": ("test_nested", "test_sums.py::test_nested", ""),
    "endless": ("test_endless", "no end (signal 24)", ""),
    "aborted": ("test_aborted", "no end (signal 6)", ""),
    "Sums.shown": ("test_shown", "test_sums.py::test_shown", ""),
    "Sums.lasting": ("test_lasting", "test_sums.py::test_lasting", ""),
    "Sums.kept": ("test_kept", "test_sums.py::test_kept", ""),
    "Sums.of_class": ("test_of_class", "test_sums.py::test_of_class", ""),
}
ALONE = {
    "<module>": ("test_limit", "test_sums.py::test_limit", ""),
    "while_collecting": ("test_collected", "test_sums.py::test_collected", ""),
    "ended": ("test_ended", "", "its process ended without an answer"),
    "Other.__init__": ("test_other", "", ""),
}


@pytest.fixture
def tasks_of_sums(tmp_path, monkeypatch) -> list[tuple[Mutant, list[Guard]]]:
    """A fault in each function of SUMS, in a constant where it has one, with the test that comes by."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial, "START", 0)  # what does not end takes one second
    Path("sums.py").write_text(SUMS)
    Path("test_sums.py").write_text(TESTS_OF_SUMS)
    faults = {}
    for fault in mutants("sums.py", SUMS):
        if fault.function not in faults or (faults[fault.function].kind, fault.kind) == ("statement", "constant"):
            faults[fault.function] = fault
    tests = {name: test for name, (test, *_) in (ALONE | FORKED).items()}
    seconds = {name: 0.1 if name == "endless" else 1.0 for name in tests}
    return [(faults[name], [Guard(f"test_sums.py::{test}", seconds[name], frozenset())]) for name, test in tests.items()]


def test_forks_of_one_session_answer_where_a_process_of_its_own_would_end_the_same_way(tasks_of_sums):
    ends = [(one.mutant.function, one.killer, one.error) for one in collected.verdicts(tasks_of_sums, Path.cwd(), 2)]
    expected = [(name, killer, error) for name, (_, killer, error) in (FORKED | ALONE).items()]
    assert ends == expected


@pytest.mark.parametrize("fault", [ImportError("no pytest"), OSError(28, "no space left on device")])
def test_a_mutant_whose_process_cannot_start_is_neither_killed_nor_a_survivor(fault, tmp_path, monkeypatch):
    def cannot_start(*_):
        raise fault

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial, "run_pytest", cannot_start)
    Path("sums.py").write_text("three = 1 + 2\n")
    verdict = ended(["test_sums.py::test_three"])
    assert (verdict.killer, verdict.error) == ("", "its process ended without an answer")
    assert _end(verdict, {}) == (UNTRIED, "NOT TRIED: its process ended without an answer")


def test_a_mutant_keeps_its_identity_when_the_file_around_it_moves():
    moved = TEXT.replace("LIMIT = 7", "# a comment\n\nLIMIT = 7").replace("size != 3", "(size\n            != 3)")
    assert [mutant.identity for mutant in mutants("m.py", moved)] == [mutant.identity for mutant in mutants("m.py", TEXT)]


def test_a_mutant_is_tried_with_the_quickest_tests_that_come_by_its_statement():
    found = {(mutant.line, mutant.kind): mutant for mutant in mutants("m.py", TEXT)}
    guards = [
        Guard("quick", 0.1, frozenset({("m.py", 10)})),
        Guard("other", 0.2, frozenset({("m.py", 8)})),
        Guard("slow", BUDGET, frozenset({("m.py", 8), ("m.py", 10)})),
        Guard("elsewhere", 0.0, frozenset({("n.py", 8)})),
    ]
    assert [guard.name for guard in chosen(found[8, "statement"], guards)] == ["other"]  # `slow` is above the budget
    assert [guard.name for guard in chosen(found[9, "statement"], guards)] == []
    assert [guard.name for guard in chosen(found[2, "constant"], guards)] == ["quick", "other"]  # runs at import: all of the file


def test_a_sample_depends_on_its_seed_alone():
    found = mutants("m.py", TEXT)
    assert sampled(found, 1, 5) == sampled(list(found), 1, 5) != sampled(found, 2, 5)
    assert sampled(found, 1, 0) == found and len(sampled(found, 1, 5)) == 5


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_each_pattern_of_a_room_names_tests(room):
    assert room.sources(ROOT) and all(list(ROOT.glob(pattern)) for pattern in room.tests)


def test_what_is_argued_to_be_equivalent_is_a_mutant_that_exists():
    files = sorted({file for file, *_ in argued()})
    known = {mutant.identity for file in files for mutant in mutants(file, (ROOT / file).read_text())}
    assert set(argued()) - known == set()
    assert all(len(reason.split()) > 3 for reason in argued().values())
