# SPDX-License-Identifier: MIT
"""`aidge-build --help`: verbs in groups, examples that their own verbs accept, words in any order, `-v` and `-q`."""

from __future__ import annotations

import os

import pytest

from aidge_build.cli import VERBS
from aidge_build.cli.groups import GROUPS
from aidge_build.cli.linked import memories
from aidge_build.cli.parsing import module_of, parse, verb_parser, word_of
from tests.command import aidge_build
from tests.models import model


def test_the_help_lists_each_verb_once_under_what_it_is_for():
    lines = aidge_build("--help").stdout.splitlines()
    headings = [line for line in lines if line in GROUPS]
    assert headings == list(GROUPS)
    for name in VERBS:
        (line,) = [index for index, line in enumerate(lines) if line.split(" ")[:3] == ["", "", word_of(name)]]
        above = [heading for heading in headings if lines.index(heading) < line]
        assert above[-1] == module_of(name).GROUP and lines[line].endswith(module_of(name).SUMMARY)
    assert max(map(len, lines)) <= 130


@pytest.mark.parametrize("name", VERBS)
def test_each_verb_shows_examples_that_it_accepts(name):
    examples = module_of(name).EXAMPLES
    shown = verb_parser(name).format_help()
    assert examples
    for words, about in examples:
        assert f"aidge-build {words}" in shown and about in shown
        verb, *more = words.split()
        assert verb == word_of(name)
        parse(name, more)


def test_the_memories_of_an_example_of_check_are_as_the_check_reads_them():
    named = [parse("check", words.split()[1:]) for words, _ in module_of("check").EXAMPLES if "--region" in words]
    assert named
    for arguments in named:
        assert [region.kind for region in memories(arguments, None).regions] == ["flash", "ram"]


@pytest.fixture
def relu(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(model("a = Relu(x) y = Neg(a)", inputs="float[1,4] x", outputs="float[1,4] y"))
    return path


def test_a_word_that_may_be_left_out_may_stand_behind_options(relu):
    last = aidge_build("explain", relu, "--board", "host", "Neg_1", "--json")
    assert last.json == aidge_build("explain", relu, "Neg_1", "--board", "host", "--json").json
    assert len(last.json["nodes"]) == 1
    both = aidge_build("boards", "stm32f7", "--json", "host")
    assert [board["name"] for board in both.json["boards"]] == ["stm32f7", "host"]
    assert [board["name"] for board in aidge_build("boards", "--json", "--", "host").json["boards"]] == ["host"]


def test_quiet_prints_what_fails_and_nothing_else(relu, tmp_path):
    words = ("compile", relu, "--board", "host", "--out", tmp_path / "out")
    assert aidge_build(*words).stdout and (tmp_path / "out/net.c").is_file()
    done = aidge_build(*words, "-q")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert aidge_build(*words, "-q", "--json").json["layers"]
    assert "cannot be read" in aidge_build("compile", tmp_path / "gone.onnx", "--out", tmp_path, "-q").stderr


def test_verbose_shows_stages_of_this_command_alone(relu, monkeypatch):
    monkeypatch.delenv("AIDGE_DEBUG", raising=False)
    one, two = (aidge_build("plan", relu, word).stderr.count("--- ") for word in ("-v", "-vv"))
    assert 0 < one < two and "AIDGE_DEBUG" not in os.environ
    assert "--- " not in aidge_build("plan", relu).stderr


@pytest.mark.parametrize("words", [[], ["--json"], ["-x", "boards"]])
def test_a_command_begins_with_a_verb(words):
    done = aidge_build(*words)
    assert done.exit_code == 2 and "aidge-build --help lists the verbs" in done.stdout + done.stderr
