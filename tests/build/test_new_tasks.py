# SPDX-License-Identifier: MIT
"""The problem matchers of a new project's tasks: an editor lists what the build says, with its file and code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from aidge_build.prove.elf.findings import RULES, Finding
from tests.command import aidge_build

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FINDINGS = (
    re.compile(r"(?P<code>[A-Z]+\d*) (?P<severity>error|warning|note): (?P<text>.+)"),
    re.compile(r"Finding\(code='(?P<code>\w+)', severity='(?P<severity>\w+)', text=(['\"])(?P<text>.+)\3, special_hint="),
)


def tasks_of(folder: Path, *words: str) -> dict:
    assert aidge_build("new", folder, *words).exit_code == 0
    return {task["label"]: task for task in json.loads((folder / ".vscode/tasks.json").read_text())["tasks"]}


@pytest.fixture(scope="module")
def patterns(tmp_path_factory) -> dict[str, dict]:
    matchers = tasks_of(tmp_path_factory.mktemp("tasks") / "demo")["build"]["problemMatcher"]
    assert matchers[0] == "$gcc"
    return {matcher["owner"]: matcher["pattern"] for matcher in matchers[1:]}


def parts(pattern: dict, line: str) -> dict[str, str] | None:
    """What an editor reads of a line, by the pattern's own numbers of groups."""
    found = re.match(pattern["regexp"], line)
    return found and {name: found[number] for name, number in pattern.items() if isinstance(number, int)}


def golden_findings() -> list[Finding]:
    lines = [line for path in sorted(GOLDEN.glob("elf_*/*.txt")) for line in path.read_text().splitlines()]
    found = [match for line in lines for form in FINDINGS if (match := form.search(line))]
    return [Finding(match["code"], match["severity"], match["text"]) for match in found if match["code"] in RULES]


def test_every_finding_is_matched_with_its_file_severity_and_code(patterns):
    every = [*golden_findings(), *(Finding(code, "error", rule.meaning) for code, rule in RULES.items())]
    assert len(every) > 150
    for finding in every:
        for where in ("build/demo.elf", "my firmware/a.elf", r"C:\work\demo.elf"):
            line = finding.line(where)
            read = parts(patterns["aidge-build"], line)
            assert read and read == {
                "file": where,
                "severity": finding.severity,
                "code": finding.code,
                "message": line.partition(f"{finding.code}: ")[2],
            }
            assert parts(patterns["aidge-build refusal"], line) is None


def test_what_is_said_of_a_link_is_matched_too(patterns):
    read = parts(patterns["aidge-build"], "demo.elf: error LINK_OVERFLOW: memory RAM is too small by 12 B")
    assert read["code"] == "LINK_OVERFLOW" and read["file"] == "demo.elf"


def test_every_refusal_of_a_model_is_matched_with_its_file(patterns):
    lines = (GOLDEN / "bad_inputs" / "messages.txt").read_text().splitlines()
    refused = [line.split(": ", 2) for line in lines if ": aidge-build: " in line]
    matched = [(file, parts(patterns["aidge-build refusal"], said)) for file, _, said in refused]
    silent = [said for (_, _, said), (_, read) in zip(refused, matched) if read is None]
    assert len(refused) > 100 and silent == []
    assert all(file in (read["file"], "") for file, read in matched)
    assert parts(patterns["aidge-build refusal"], r"aidge-build: C:\kws.onnx: is empty")["file"] == r"C:\kws.onnx"


def test_neither_lines_of_a_good_build_nor_of_a_compiler_are_matched(patterns):
    for line in (
        "build/demo.elf: arena digits   160 B = plan",
        "       FLASH         7,960 /  1,048,576 B   0.8 %",
        "src/main.c:12:5: error: expected ';' before 'return'",
        "AIDGE  models/digits.onnx -> build/models/digits.c",
    ):
        assert [parts(pattern, line) for pattern in patterns.values()] == [None, None]


@pytest.mark.parametrize(
    "words, commands",
    [
        ((), ["scons", "scons run"]),
        (
            ("--build", "cmake"),
            ["cmake --preset host && cmake --build build", "cmake --preset host && cmake --build build --target run"],
        ),
        (("--board", "esp32c3"), ["scons"]),
    ],
)
def test_tasks_build_and_run_the_project(tmp_path, words, commands):
    tasks = tasks_of(tmp_path / "demo", *words)
    assert [task["command"] for task in tasks.values()] == commands
    assert tasks["build"]["group"] == {"kind": "build", "isDefault": True} and tasks["build"]["problemMatcher"]
    made = [
        path.read_text() for path in (tmp_path / "demo").rglob("*") if path.name in ("SConstruct", "CMakeLists.txt", "README.md")
    ]
    assert all(("run" in tasks) == ("scons run" in text or "--target run" in text) for text in made)
