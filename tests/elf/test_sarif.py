# SPDX-License-Identifier: MIT
"""`check --sarif`: services and editors get each finding with its code, level, place and hint."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path

import jsonschema
import pytest

from aidge_build.prove.elf.findings import RULES
from tests.command import aidge_build
from tests.programs import build, model, needs_cross_compiler

pytestmark = needs_cross_compiler
# The schema is not part of this repository: this variable names the file.
SCHEMA = "AIDGE_SARIF_SCHEMA"
# A wrong arena, a stack without a bound, and a stack that is too small.
FAULTY = (
    model("DTCM", arena_bytes=528).replace("int main(void) {", "int main(void) {\n    volatile char b[4000]; b[0] = 1;")
    + "const int one[80] = {1}, two[80] = {1};\n"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sarif")
    with contextlib.chdir(folder):
        build("stm32f7", FAULTY, folder, flags=("-g", f"-ffile-prefix-map={folder}=."))
    return folder


@pytest.fixture
def project(built, tmp_path, monkeypatch) -> Path:
    shutil.copytree(built, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def run_of(*words, exit_code: int = 1) -> dict:
    done = aidge_build("check", "app.elf", "--board", "stm32f7", "--sarif", "check.sarif", *words)
    assert done.exit_code == exit_code, done.stderr
    log = json.loads(Path("check.sarif").read_text())
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    return log["runs"][0]


def line_of(text: str) -> int:
    return Path("app.c").read_text()[: Path("app.c").read_text().index(text)].count("\n") + 1


def test_each_finding_is_a_result_with_its_code_level_hint_and_place(project):
    run = run_of()
    assert run["artifacts"][0]["hashes"] == {"sha-256": hashlib.sha256(Path("app.elf").read_bytes()).hexdigest()}
    shown = {result["ruleId"]: result for result in run["results"]}
    assert {code: result["level"] for code, result in shown.items()} == {"MEM02": "error", "STK01": "error"}
    arena, stack = shown["MEM02"], shown["STK01"]
    assert (
        arena["message"]["text"].startswith("arena kws")
        and ". Hint: generate, compile and link again" in arena["message"]["text"]
    )
    for result, name, kind, text in (
        (arena, "kws_arena", "variable", "static uint8_t kws_arena"),
        (stack, "main", "function", "int main"),
    ):
        (location,) = result["locations"]
        assert location["physicalLocation"] == {"artifactLocation": {"uri": "app.c"}, "region": {"startLine": line_of(text)}}
        assert {"name": name, "kind": kind} in location["logicalLocations"]
        assert result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "app.elf"
        assert list(RULES)[result["ruleIndex"]] == result["ruleId"]


def test_every_code_is_a_rule_with_help_and_the_page_that_lists_it(project):
    rules = {rule["id"]: rule for rule in run_of()["tool"]["driver"]["rules"]}
    assert list(rules) == list(RULES)
    for code, rule in rules.items():
        assert rule["shortDescription"]["text"] == RULES[code].meaning and RULES[code].hint in rule["help"]["text"]
        assert "(docs/reference-findings.md)" in rule["help"]["markdown"]


def test_without_debug_information_a_result_is_at_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    build("stm32f7", model("DTCM", arena_bytes=528), tmp_path, flags=("-g0",))
    (location,) = run_of()["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "app.elf", "index": 0}
    assert {"name": "kws_arena", "kind": "variable"} in location["logicalLocations"]


def test_a_section_that_is_named_is_a_place(project):
    narrow = ("--region", "FLASH=0x08000000,0x100000,flash", "--region", "RAM=0x20010000,0x1000,ram")
    done = aidge_build("check", "app.elf", *narrow, "--sarif", "check.sarif")
    assert done.exit_code == 1
    results = json.loads(Path("check.sarif").read_text())["runs"][0]["results"]
    named = [place for result in results for place in result["locations"][0].get("logicalLocations", ())]
    assert any(place["kind"] == "section" for place in named)


def test_the_bytes_are_the_same_in_every_folder_and_where_the_answer_was_kept(project, tmp_path):
    run_of("--out", "check.json")
    first = Path("check.sarif").read_bytes()
    Path("check.sarif").unlink()
    run_of("--out", "check.json")
    assert Path("check.sarif").read_bytes() == first and str(tmp_path).encode() not in first
    shutil.copytree(project, tmp_path / "elsewhere")
    os.chdir(tmp_path / "elsewhere")
    run_of()
    assert Path("check.sarif").read_bytes() == first


def test_quiet_findings_are_suppressed_and_errors_are_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    build("stm32f7", model("DTCM", claim={"layers": ["kws_conv", "kws_gone"]}), tmp_path)
    (result,) = run_of("--quiet", "MEM07,MEM02", exit_code=0)["results"]
    assert result["ruleId"] == "MEM07" and result["suppressions"] == [{"kind": "external"}]
    (result,) = run_of(exit_code=0)["results"]
    assert "suppressions" not in result


@pytest.mark.skipif(SCHEMA not in os.environ, reason=f"{SCHEMA} names no sarif-schema-2.1.0.json")
def test_the_log_keeps_the_schema_of_the_standard(project):
    run_of()
    jsonschema.validate(json.loads(Path("check.sarif").read_text()), json.loads(Path(os.environ[SCHEMA]).read_text()))
