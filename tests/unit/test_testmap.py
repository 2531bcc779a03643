# SPDX-License-Identifier: MIT
"""The map of `./sconsw test changed`: which part of a file a change touches, and what a test file uses."""

from __future__ import annotations

import json
import sys

import pytest

from tools.testmap.__main__ import files_of, summary
from tools.testmap.entries import FAILED, TestMap
from tools.testmap.files import BELOW, EVERYTHING, WHOLE, Checkout, keys_of
from tools.testmap.marks import Marks
from tools.testmap.outline import MARKS, REST, outlined
from tools.testmap.reads import ROOT

TEXT = '''"""A module."""
from base import half, third

_LEAST = 2
_MOST = _LEAST + 5
NAMES = ["a"]


def fits(size: int = 0) -> bool:
    """Whether it fits."""
    if size > _MOST:  # a limit
        return False
    total = half(size)
    return total > 0


def named(name):
    for one in NAMES:
        if one == name:
            return third(one)
    return _unknown()


def _unknown():
    return None


class Row:
    width = 3

    def area(self):
        return self.width * half(2)
'''


def touched(*changes: tuple[str, str]) -> set[str]:
    """The parts of TEXT that differ after the changes, new parts left out."""
    text = TEXT
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    after, before = outlined(text)[0].digests, outlined(TEXT)[0].digests
    return {part for part, digest in before.items() if after.get(part) != digest}


@pytest.mark.parametrize(
    "changes, parts",
    [
        ([("  # a limit", "  # the limit\n")], set()),
        ([("total > 0", "total >= 0")], {"fits"}),
        ([('"""Whether it fits."""', '"""Whether it is small."""')], {"fits"}),
        ([("self.width * half(2)", "1")], {"Row.area"}),
        ([("return None", "return 0")], {"_unknown"}),
        ([("def _unknown():", "def _unknown(default=None):")], {"_unknown"}),
        # A private helper and an import for it touch the function that uses the helper.
        (
            [
                ("import half,", "import half, twice,"),
                ("total > 0", "_is(total)"),
                ("class Row", "def _is(n):\n    return twice(n)\n\nclass Row"),
            ],
            {"fits"},
        ),
        ([("from base import half, third", "from base import half\nfrom other import third")], {"named"}),
        ([("from base", "import os\nfrom base"), ("return None", "return os")], {"_unknown"}),
        ([("_LEAST = 2", "_LEAST = 3")], {"fits"}),  # through _MOST
        # What runs at import, or what others find by its name or class, touches all that import the file.
        ([('["a"]', '["b"]')], {REST}),
        ([("size: int = 0", "size: int = 1")], {REST}),
        ([("width = 3", "width = 4")], {REST}),
        ([("width = 3", "width = 3\n\n    def _half(self):\n        return 1")], {REST}),
        ([("def _unknown", "@register\ndef _unknown")], {REST, "_unknown"}),
        ([("from base", "import os\nfrom base")], {REST}),
    ],
)
def test_a_change_touches_the_functions_that_it_changes_and_no_others(changes, parts):
    assert touched(*changes) == parts


def test_a_function_without_statements_is_part_of_the_rest():
    empty = 'def hook():\n    """Does nothing."""\n'
    assert set(outlined(empty)[0].digests) == {REST}
    assert outlined(empty)[0].digests != outlined(empty + "    return 1\n")[0].digests


def test_what_others_import_from_a_package_is_part_of_its_rest():
    text = "from a import b\n\ndef f():\n    return b\n"
    digests = [outlined(one, True)[0].digests[REST] for one in (text, text.replace("from a", "from c"))]
    assert digests[0] != digests[1]


def test_marks_say_which_statements_ran_and_the_functions_do_what_they_did():
    outline, tree = outlined(TEXT.replace("from base import half, third", "half = third = abs"))
    marks = bytearray(sum(map(len, outline.marks.values())))
    names: dict = {MARKS: marks}
    exec(compile(tree, "m.py", "exec"), names)
    lines = [line for part in outline.marks.values() for line in part]

    def ran() -> list[int]:
        found = sorted(line for mark, own in zip(marks, lines, strict=True) if mark for line in own)
        marks[:] = bytes(len(marks))
        return found

    assert ran() == []
    assert names["fits"](8) is False and ran() == [11, 12]
    assert names["fits"](2) is True and ran() == [11, 13, 14]
    assert names["named"]("b") is None and ran() == [18, 19, 21, 25]
    assert names["Row"]().area() == 6 and names["fits"].__doc__ == "Whether it fits."


def run(*words: str, inherits: bool = True) -> str:
    return "run " + json.dumps([inherits, str(ROOT), *words])


@pytest.mark.parametrize(
    "line, keys",
    [
        ("open boards/host.toml", {("boards/host.toml", WHOLE)}),
        ("open aidge_build/base/__pycache__/errors.cpython-311.pyc", {("aidge_build/base/errors.py", WHOLE)}),
        ("open tests/unit/__pycache__/test_values.cpython-311-pytest-9.1.pyc", {("tests/unit/test_values.py", WHOLE)}),
        ("open build/bench.json", set()),
        ("open boards/no_such_file.toml", set()),
        ("list boards", {("boards", WHOLE)}),
        ("list examples/hello/build", set()),
        (run("arm-none-eabi-gcc", "-c", "main.c", inherits=False), set()),
        (run("gcc", f"-I{ROOT}/kernels", f"{ROOT}/boards/startup.c"), {("kernels", BELOW), ("boards/startup.c", WHOLE)}),
        (
            run("cmake", "--build", "."),
            {(name, BELOW) for name in ("boards", "examples", "integrations", "kernels", "site_scons")},
        ),
        (run(sys.executable, "-m", "aidge_build"), set()),  # says itself what it reads
        (run(sys.executable, "-m", "aidge_build", inherits=False), {EVERYTHING}),
        (run("/usr/bin/python3", "-c", "pass"), {EVERYTHING}),
        (run("git", "ls-files"), {EVERYTHING}),
        (run("sh", "sconsw"), {("sconsw", WHOLE)}),
    ],
)
def test_what_a_process_reads_or_starts_names_files_of_the_checkout(line, keys):
    assert keys_of([line]) == keys


def test_a_folder_changes_with_its_names_and_with_all_below_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.testmap.files.ROOT", tmp_path)
    for name in ("boards/cores/m4.toml", "build/made.json", "boards/__pycache__/x.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")

    def digests() -> list[str]:
        checkout = Checkout(tmp_path / "build")
        return [checkout.digest(*key) for key in (("boards", WHOLE), ("boards", BELOW), EVERYTHING)]

    first = digests()
    (tmp_path / "build/made.json").write_text("2")
    (tmp_path / "boards/__pycache__/y.pyc").write_text("2")
    assert digests() == first
    (tmp_path / "boards/cores/m4.toml").write_text("2")
    second = digests()
    assert [one == other for one, other in zip(first, second, strict=True)] == [True, False, False]
    (tmp_path / "boards/new.toml").write_text("1")
    assert all(one != other for one, other in zip(second, digests(), strict=True))


def test_a_test_file_runs_again_when_a_function_that_it_ran_has_changed(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.testmap.entries.let_children_join", lambda: None)
    test_file, used = "tests/unit/test_memory_stack.py", "aidge_build/plan/memory/stack.py"
    known = TestMap(tmp_path)
    assert known.changed(test_file) == [test_file] and not known.is_known(test_file)
    (done,) = known.renew([test_file], 1)
    assert (done.passed, done.tests > 0) == (True, True), done.output
    assert known.changed(test_file) == [] == TestMap(tmp_path).changed(test_file)
    assert any(used in test.lines for test in known.tests(test_file)) and len(known.tests(test_file)) == done.tests

    assert (
        known.uses(test_file, used) and known.uses(test_file, "tests/conftest.py") and not known.uses(test_file, "docs/index.md")
    )

    (kept,) = tmp_path.glob("*/*.json")
    entry = json.loads(kept.read_text())
    assert {"tests/conftest.py", "requirements.lock", test_file} <= set(entry["uses"])
    ran = sorted(set(entry["uses"][used]) - {REST})
    assert ran
    entry["uses"][used][ran[0]] = "another"
    kept.write_text(json.dumps(entry))
    assert TestMap(tmp_path).changed(test_file) == [used]
    kept.write_text(json.dumps(entry | {"uses": {}, "passed": False}))
    assert TestMap(tmp_path).changed(test_file) == [FAILED]
    kept.write_text(json.dumps(entry | {"uses": {"docs": {BELOW: "1"}, ".": {BELOW: "1"}}}))
    assert TestMap(tmp_path).uses(test_file, "docs/index.md") and not TestMap(tmp_path).uses(test_file, "boards/host.toml")


def test_a_recorded_test_finds_the_main_module_and_imports_the_others_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "modules", {**sys.modules, "__main__": sys.modules["tools.testmap.__main__"]})
    Marks(tmp_path)
    assert "__main__" in sys.modules and "tools.testmap.__main__" not in sys.modules


def test_one_line_says_how_much_runs_and_why():
    reasons = {"t/test_a.py": ["x.py"], "t/test_b.py": ["x.py", "y.c"], "t/test_c.py": [FAILED], "t/test_d.py": ["t/test_d.py"]}
    assert summary(reasons, 9, {"t/test_d.py"}) == ("4 of 9 test files: using x.py (2), y.c (1); 1 that failed; 1 never recorded")
    assert summary({}, 9, set()) == "0 of 9 test files use what has changed"
    assert files_of(["tests/unit/test_testmap.py"]) == ["tests/unit/test_testmap.py"]
