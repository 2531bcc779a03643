# SPDX-License-Identifier: MIT
"""AGENTS.md and the skill for coding agents say what the command line does. test_snippets.py runs the blocks of the skill."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from aidge_build.base import errors
from aidge_build.base.errors import AidgeError
from aidge_build.cli import EXIT_INTERRUPTED
from tests.command import aidge_build
from tests.docs.blocks import ROOT

SKILL = (ROOT / "skills" / "aidge-build" / "SKILL.md").read_text()
AGENTS = (ROOT / "AGENTS.md").read_text()
COMMAND = re.compile(r"(?:^|[`$/] ?)(?:.venv/bin/)?aidge-build ([a-z][a-z-]*)((?: [^`#\n]*)?)", re.MULTILINE)
COMMANDS = sorted({(verb, rest.strip()) for verb, rest in COMMAND.findall(SKILL)})
SLOW = {"doctor", "ops"}  # these do something without a file


def test_a_skill_has_the_name_of_its_folder_and_says_when_to_use_it():
    head = yaml.safe_load(SKILL.split("---\n")[1])
    assert head["name"] == "aidge-build" and "Use it to" in head["description"] and len(head["description"]) < 1024


def test_the_commands_are_ten():
    block = re.search(r"## Ten commands\n.*?```sh\n(.*?)```", SKILL, re.DOTALL)[1]
    assert len(block.splitlines()) == 10 and all(line.startswith("aidge-build ") for line in block.splitlines())


def test_every_verb_that_is_named_is_there():
    verbs = {verb for verb, _ in [*COMMANDS, *COMMAND.findall(AGENTS)]}
    assert len(verbs) > 10 and [verb for verb in sorted(verbs) if aidge_build(verb, "--help").exit_code] == []


@pytest.mark.parametrize("verb, rest", [each for each in COMMANDS if "..." not in each[1] and each[0] not in SLOW])
def test_every_command_has_words_that_its_verb_takes(verb, rest, tmp_path, monkeypatch):
    """In a folder without the files that it names it is refused for these, and not for its words."""
    monkeypatch.chdir(tmp_path)
    if "--existing" in rest:
        Path("demo").mkdir()
        Path("demo/SConstruct").write_text('Program("app", ["main.c"])\n')
    done = aidge_build(verb, *shlex.split(rest), "--json")
    assert done.exit_code == 0 or done.json["error"]["code"] not in ("USAGE", "INTERNAL"), (rest, done.stderr)


def test_the_exit_codes_are_those_of_the_code():
    table = SKILL.partition("## Exit codes")[2].partition("\n## ")[0]
    known = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == {0, EXIT_INTERRUPTED, *known}


def test_a_refusal_has_the_parts_that_the_skill_names():
    refused = AidgeError("WHAT", where="WHERE", tried=["A", "B"], hint="NEXT")
    assert f"`aidge-build: {refused}`" in SKILL and {"code", "where"} < set(refused.as_json())


def test_the_schemas_are_those_of_the_package():
    named = set(re.findall(r"`(aidge_build/base/schemas/[\w.]+)`", SKILL))
    assert named == {str(path.relative_to(ROOT)) for path in (ROOT / "aidge_build" / "base" / "schemas").iterdir()}
    assert all("schema" in json.loads((ROOT / name).read_text())["properties"] for name in named)


def test_every_file_that_is_linked_is_there():
    for folder, text in ((ROOT, AGENTS), (ROOT / "skills" / "aidge-build", SKILL)):
        links = re.findall(r"\]\(([^)#]+)", text)
        assert links and [link for link in links if not (folder / link).exists()] == []
