# SPDX-License-Identifier: MIT
"""A file that a command writes is never one that it reads, nor a file that comes with the tool."""

from __future__ import annotations

import shutil

import pytest

from aidge_build.base.zoo import entry
from aidge_build.cli.outputs import WRITTEN
from aidge_build.cli.parsing import verb_parser
from aidge_build.cli.verbs import FORMS, VERBS
from tests.command import aidge_build

GAS = entry("gas")


@pytest.mark.parametrize(
    "words, replaced",
    [
        ("accuracy m.onnx --labels t.npz --out t.npz", "t.npz"),
        ("accuracy m.onnx --labels t.npz --min-r2 1 --out ./m.onnx", "m.onnx"),
        ("quantize m.onnx --quantize t.npz --out t.npz", "t.npz"),
        ("plan m.onnx --svg m.onnx", "m.onnx"),
        ("compile m.onnx --out made --stamp link.onnx", "m.onnx"),
    ],
)
def test_a_file_that_the_command_reads_is_not_replaced_or_removed(words, replaced, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(GAS.model, "m.onnx")
    shutil.copy(GAS.samples, "t.npz")
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    done = aidge_build(*words.split())
    assert done.exit_code == 2 and f"would replace {replaced}, which this command reads" in done.stderr
    assert (tmp_path / "m.onnx").read_bytes() == GAS.model.read_bytes()
    assert (tmp_path / "t.npz").read_bytes() == GAS.samples.read_bytes()


@pytest.mark.parametrize("words", [("--out", "zoo:gesture/test.npz"), ("--out=zoo:gesture",)])
def test_a_file_that_comes_with_the_tool_is_not_replaced(words):
    files = [entry("gesture").samples, entry("gesture").model]
    before = [file.read_bytes() for file in files]
    done = aidge_build("accuracy", "zoo:gas", "--labels", "zoo:gas/test.npz", *words)
    for file, content in zip(files, before):
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)
            pytest.fail(f"{file} was replaced")
    assert done.exit_code == 2 and "would replace a file that comes with the tool" in done.stderr


def test_every_option_that_names_a_file_to_write_is_known():
    others = {"--dump", "--work", "--update"}  # more than a path, a folder, a record that is renewed
    for verb in (*VERBS, *(form.module for form in FORMS)):
        for action in verb_parser(verb)._actions:
            if "to write" in (action.help or "") or (action.help or "").startswith("file for"):
                assert others.union(f"--{name}" for name in WRITTEN) & {*action.option_strings}, (verb, action.help)
