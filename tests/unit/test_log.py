# SPDX-License-Identifier: MIT
"""AIDGE_LOG: commands, stages and errors in a file, the same each time, without any effect on what is generated."""

from __future__ import annotations

import re

import pytest

from tests.command import aidge_build
from tests.models import model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "net.onnx").write_bytes(model("y = Relu(x)", inputs="float[1,4] x", outputs="float[1,4] y"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(out: str):
    return aidge_build("compile", "net.onnx", "--lib", "ref", "--out", out)


def test_stages_are_logged_and_the_outputs_stay_the_same(folder, monkeypatch):
    assert compiled("without").stderr == ""
    monkeypatch.setenv("AIDGE_LOG", "build.log")
    result = compiled("with")
    assert (result.exit_code, result.stderr) == (0, "")
    assert {path.name: path.read_bytes() for path in (folder / "with").iterdir()} == {
        path.name: path.read_bytes() for path in (folder / "without").iterdir()
    }
    text = (folder / "build.log").read_text()
    assert text.startswith("== aidge-build compile net.onnx --lib ref --out with\n")
    assert all(re.match(r"== \S|   |$", line) for line in text.split("\n"))
    titles = re.findall(r"^== stage (.*)$", text, re.MULTILINE)
    assert {"imported", "assignment", "schedule"} <= set(titles) and "Relu_0" not in titles
    assert "   graph net.onnx: x float32[1, 4]" in text


def test_the_same_command_logs_the_same_and_a_log_grows(folder, monkeypatch):
    monkeypatch.setenv("AIDGE_LOG", "build.log")
    compiled("out")
    once = (folder / "build.log").read_text()
    compiled("out")
    assert (folder / "build.log").read_text() == 2 * once


def test_the_debug_level_is_that_of_the_log(folder, monkeypatch):
    monkeypatch.setenv("AIDGE_LOG", "build.log")
    monkeypatch.setenv("AIDGE_DEBUG", "4")
    compiled("out")
    assert "== stage Relu_0\n   Call(function=" in (folder / "build.log").read_text()


def test_an_error_of_a_verb_is_logged(folder, monkeypatch):
    monkeypatch.setenv("AIDGE_LOG", "build.log")
    assert aidge_build("compile", "no.onnx", "--out", "out").exit_code == 2
    assert "== error INPUT, exit code 2\n   no.onnx: cannot be read" in (folder / "build.log").read_text()


def test_a_log_that_cannot_be_written_is_said_once_and_stops_nothing(folder, monkeypatch):
    monkeypatch.setenv("AIDGE_LOG", "no/such/folder.log")
    result = compiled("out")
    assert result.exit_code == 0 and (folder / "out/net.c").is_file()
    assert result.stderr == "aidge-build: AIDGE_LOG: no/such/folder.log: No such file or directory; nothing is logged\n"


def test_what_a_model_names_cannot_forge_a_record(folder, monkeypatch):
    monkeypatch.setenv("AIDGE_LOG", "build.log")
    aidge_build("compile", "no\n== error FORGED\x1b.onnx", "--out", "out")
    assert not re.search(r"^== error FORGED", (folder / "build.log").read_text(), re.MULTILINE)
