# SPDX-License-Identifier: MIT
"""Scripts that complete the command line: run by the shells that are there."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from shlex import quote

import pytest

from aidge_build.cli.verbs import FORMS, VERBS
from tests.command import aidge_build

QUESTIONS = {
    ("comp",): {"compile"},
    ("compile", "--optimi"): {"--optimize"},
    ("explain", "--optimize", "s"): {"speed", "size"},
    ("new", "--board", "mps2-an386"): {"mps2-an386", "mps2-an386-nofpu"},
    ("explain", "--pl"): {"--plan", "--place"},
    ("list", "boards", "stm32f7"): {"stm32f7", "stm32f767"},
    ("compile", "--board", "stm32f7", "ne"): {"net.onnx", "net.tflite"},
    ("tune", "net.onnx", "net."): {"net.onnx", "net.tflite"},
    ("report", "--sbom", "app.elf", "k"): {"kws.plan.json"},
    ("report", "--diff", "k"): {"kws.plan.json"},
}
FILES = ("net.onnx", "net.tflite", "net.txt", "app.elf", "kws.plan.json")
BASH = """
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=(); _aidge_build; echo "${COMPREPLY[@]}"; }
"""


@cache
def script(shell: str) -> str:
    return aidge_build("completion", shell).stdout


def run(shell: str, text: str, folder: Path | None = None) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    option = {"fish": "--no-config", "bash": "--norc"}.get(shell, "-f")
    done = subprocess.run([shell, option], input=text, capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path) -> Path:
    """Files, some of them models."""
    for name in FILES:
        (tmp_path / name).touch()
    return tmp_path


def test_the_verb_prints_the_script_with_every_verb_and_option():
    for shell in ("bash", "zsh", "fish", "tcsh"):
        for word in (*VERBS, *(form.selector for form in FORMS), "--memory-model", "--dry-run", "--min-top1"):
            assert word.removeprefix("--") in script(shell)


def test_bash_completes_verbs_options_and_values(folder):
    asked = "".join(f"ask aidge-build {' '.join(words)}\n" for words in QUESTIONS)
    answers = run("bash", f"{script('bash')}\n{BASH}{asked}ask aidge-build compile --optimize = si\n", folder)
    assert [set(answer.split()) for answer in answers] == [*QUESTIONS.values(), {"size"}]


def test_fish_completes_verbs_options_and_values(folder):
    asked = "".join(f"complete -C 'aidge-build {' '.join(words)}'; echo .\n" for words in QUESTIONS)
    answers = "\n".join(run("fish", f"{script('fish')}\n{asked}", folder)).split("\n.")
    found = [{line.split("\t")[0] for line in answer.strip().split("\n") if line} for answer in answers[:-1]]
    assert found == [*QUESTIONS.values()]


def test_zsh_reads_the_script():
    assert run("zsh", f"autoload -Uz compinit; compinit -u -D\neval {quote(script('zsh'))}\necho $_comps[aidge-build]\n") == [
        "_shtab_aidge_build"
    ]
    options = script("zsh").partition("_shtab_aidge_build_fit_options=")[2].partition("\n)")[0]
    assert '"--optimize=[' in options and '"*:' in options  # both spellings of a value, and any number of models


def test_tcsh_reads_the_script():
    assert run("tcsh", f"{script('tcsh')}\ncomplete aidge-build\n")[0].startswith("'c/--build=/(scons cmake)/'")
