# SPDX-License-Identifier: MIT
"""`aidge-build --help`: verbs in groups, examples that their own verbs accept, words in any order, `-v` and `-q`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from aidge_build.cli import verbs
from aidge_build.cli.groups import GROUPS
from aidge_build.cli.linked import memories
from aidge_build.cli.parsing import parse, verb_parser
from aidge_build.cli.verbs import FIRST, FORMS, MODULES, VERBS, chosen, module_of, summary_of, typed
from tests.command import aidge_build
from tests.models import model


def listed(lines: list[str]) -> dict[str, str]:
    """Verb -> the heading above it."""
    found, heading = {}, ""
    for line in lines:
        heading = line if line in GROUPS else heading
        word = line.split()[0] if line.startswith("  ") else ""
        if word in VERBS and line.endswith(summary_of(word)):
            found[word] = heading
    return found


def test_the_first_page_lists_sixteen_verbs_and_the_page_of_all_the_rest():
    first, every = aidge_build("--help").stdout.splitlines(), aidge_build("--help", "all").stdout.splitlines()
    assert len(FIRST) == 16, "a new verb goes to RARE or FORMS (docs/howto-verb.md)"
    assert listed(first) == {name: verb.group for name, verb in FIRST.items()}
    assert listed(every) == {name: verb.group for name, verb in VERBS.items()}
    assert [line for line in first if line in GROUPS] == list(GROUPS)
    for form in FORMS:
        assert any([*line.split()[:3]] == [*typed(form.module).split(), form.alias] for line in every)
    assert max(map(len, (*first, *every))) <= 130


def test_a_verb_is_a_file_and_a_row_as_the_page_says(tmp_path, monkeypatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto-verb.md").read_text()
    text, row = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    layers = ModuleType("layers")
    exec(text, vars(layers))
    monkeypatch.setitem(sys.modules, "aidge_build.cli.layers", layers)
    (tmp_path / "net.onnx").write_bytes(model("a = Relu(x) y = Neg(a)", inputs="float[1,4] x", outputs="float[1,4] y"))
    monkeypatch.setitem(VERBS, "layers", eval("{" + row + "}", vars(verbs))["layers"])
    done = aidge_build("layers", tmp_path / "net.onnx", "--most", "1")
    assert done.exit_code == 0 and done.stdout.count("\n") == 1 and "float32" in done.stdout, done
    assert "--most" in aidge_build("layers", "--help").stdout and "layers" in aidge_build("--help", "all").stdout


# What each form is asked here; {net} is a model, {out} a folder to write into.
FORM_WORDS = {
    "init": ("{net}", "--folder", "{out}"),
    "link-script": ("--board", "stm32f4", "--out", "{out}/link.ld", "--json"),
    "sweep": ("{net}", "--boards", "nosuch"),
    "completion": ("fish",),
    "cmake-dir": (),
    "gdb-script": (),
    "serial-handler": ("{net}", "--out", "{out}"),
    "export": ("{net}", "--lib", "ref", "--out", "{out}/folder"),
    "plan": ("{net}", "--why"),
    "explain-link": ("--", "no-such-linker"),
    "sbom": ("{out}/gone.plan.json", "--out", "{out}/bill.json"),
    "sensitivity": ("{net}", "--labels", "{out}/gone.npz"),
    "calibrate": ("{net}", "--board", "nosuch", "--probe", ":1"),
    "boards": ("stm32f7",),
    "zoo": (),
    "kernels": (),
    "ops": ("Relu",),
    "options": ("--json",),
}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.alias)
def test_a_form_of_a_verb_answers_as_its_old_name_does(form, relu, tmp_path):
    words = [word.format(net=relu, out=tmp_path) for word in FORM_WORDS[form.alias]]
    old = aidge_build(form.alias, *words)
    for path in sorted(tmp_path.glob("folder/**/*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert old == aidge_build(form.verb, form.selector, *words) and old.stdout + old.stderr
    assert aidge_build(form.alias, "--help") == aidge_build(form.verb, form.selector, "--help")
    assert f"aidge-build {form.alias} --help" in aidge_build(form.alias, "--no-such-option", *words).stderr


@pytest.mark.parametrize("name", MODULES)
def test_the_help_of_a_verb_has_at_most_fourteen_options_and_examples_that_it_accepts(name):
    examples = module_of(name).EXAMPLES
    first, every = (aidge_build(*typed(name).split(), "--help", *more).stdout for more in ((), ("all",)))
    shown = [line for line in first.splitlines() if line.startswith("  -")]
    assert len(shown) <= 14 and examples
    options = {action.option_strings[-1] for action in verb_parser(name)._actions if action.option_strings} - {"--help"}
    assert [option for option in sorted(options) if option not in every] == []
    for words, about in examples:
        assert f"aidge-build {words}" in first and about in first
        meant, more = chosen(words.split())
        assert meant == name or name == "list"
        parse(meant, more)


def test_the_memories_of_an_example_of_check_are_as_the_check_reads_them(tmp_path):
    named = [parse("check", words.split()[1:]) for words, _ in module_of("check").EXAMPLES if "--region" in words]
    assert named
    for arguments in named:
        assert [region.kind for region in memories(arguments, SimpleNamespace(path=str(tmp_path / "app.elf"))).regions] == [
            "flash",
            "ram",
        ]


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
