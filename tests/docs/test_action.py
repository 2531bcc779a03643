# SPDX-License-Identifier: MIT
"""The GitHub Action and the pre-commit hook of this repository: their lines are run, their files keep the formats."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.command import aidge_build
from tests.docs.blocks import EVERYTHING, ROOT
from tests.docs.runners import ENVIRONMENT, python_with
from tests.programs import build, model, needs_cross_compiler

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


def run_step(name: str, folder: Path, **inputs: str) -> tuple[int, str]:
    """The exit code of a step and what it wrote into the summary, as a runner of GitHub starts it."""
    given = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "GITHUB_OUTPUT": str(folder / "output"), **inputs}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    command = folder / "bin" / "aidge-build"
    command.parent.mkdir(exist_ok=True)
    command.write_text('#!/bin/sh\nexec python -m aidge_build "$@"\n')
    command.chmod(0o755)
    environment = {**ENVIRONMENT, "PATH": f"{command.parent}:{ENVIRONMENT['PATH']}", **given}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, (folder / "summary.md").read_text() if (folder / "summary.md").exists() else done.stderr


@needs_cross_compiler
@pytest.mark.parametrize("arena_bytes, code, said", [(512, 0, "arena kws   512 B = plan"), (528, 1, ": error MEM02: ")])
def test_the_check_ends_as_the_program_is_and_says_why_in_the_summary(tmp_path, arena_bytes, code, said):
    build("stm32f7", model("DTCM", arena_bytes), tmp_path)
    ended, summary = run_step("Check", tmp_path, ELF="app.elf", BOARD="stm32f7", OPTIONS="--max-stack 4096 --quiet STK02")
    assert ended == code and summary.startswith("### app.elf on stm32f7\n```text\n") and said in summary, summary
    assert (tmp_path / "output").read_text() == "sarif=aidge-build.sarif\n"
    assert json.loads((tmp_path / "aidge-build.sarif").read_text())["version"] == "2.1.0"


@needs_cross_compiler
def test_nothing_is_installed_where_everything_is_there(tmp_path):
    ended, said = run_step("Install", tmp_path, SOURCE=str(ROOT), RUNNER_TEMP=str(tmp_path / "none"))
    assert ended == 0 and said == "" and not (tmp_path / "none").exists()


def test_a_step_that_is_refused_ends_with_its_code_and_says_why(tmp_path):
    ended, summary = run_step("Verify", tmp_path, MODEL="none.onnx", BOARD="stm32f7", IO_DATA="none.npz")
    assert ended == 2 and "aidge-build: none.onnx: cannot be read" in summary


def test_every_step_is_a_script_that_reads_no_input_in_its_text():
    """A step gets the inputs of a workflow as environment variables: in a script's text they could be commands."""
    for step in STEPS.values():
        assert "${{" not in step["run"] and subprocess.run(["bash", "-n", "-c", step["run"]], check=False).returncode == 0
    named = {name for step in STEPS.values() for name in re.findall(r"inputs\.([\w-]+)", json.dumps(step))}
    assert named == set(ACTION["inputs"])


@needs_cross_compiler
def test_verify_compares_a_model_and_says_so_in_the_summary(tmp_path):
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", tmp_path)
    subprocess.run(
        ["python", "-c", "import numpy; numpy.savez('io.npz', x=numpy.zeros((1, 1, 1, 8, 8), numpy.int8))"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        check=True,
    )
    ended, summary = run_step("Verify", tmp_path, MODEL="digits.onnx", BOARD="stm32f7", IO_DATA="io.npz")
    assert ended == 0 and "0 of 10 values differ" in summary and ", peak " in summary


def test_the_hook_takes_models_and_its_command_takes_its_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [bool(re.search(HOOK["files"], name)) for name in ("a/kws.onnx", "kws.tflite", "onnx.md")] == [True, True, False]
    command, *words = shlex.split(HOOK["entry"])
    done = aidge_build(*words, *HOOK["args"], "one.onnx", "two.tflite", "--json")
    assert command == "aidge-build" and done.json["error"]["code"] != "USAGE" and "one.onnx" in done.stderr


def validator(name: str) -> str:
    """A program that checks formats: on the PATH, or of an environment of its own where all of the documentation is run."""
    if EVERYTHING:
        return str(python_with("check-jsonschema,pre-commit").with_name(name))
    return shutil.which(name) or os.environ.get(name.upper().replace("-", "_"), "") or pytest.skip(f"no {name} on this machine")


def test_the_action_keeps_the_schema_of_actions():
    words = [validator("check-jsonschema"), "--builtin-schema", "vendor.github-actions", ROOT / "action.yml"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hook_keeps_the_format_of_hooks():
    words = [validator("pre-commit"), "validate-manifest", ROOT / ".pre-commit-hooks.yaml"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
