# SPDX-License-Identifier: MIT
"""Scripts that complete the command line: run by the shells that are there."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest

from aidge_build.cli.shells import SHELLS, verbs_of
from aidge_build.cli.verbs import FORMS, VERBS
from tests.command import aidge_build

QUESTIONS = {
    ("comp",): {"compile"},
    ("compile", "--optimi"): {"--optimize"},
    ("explain", "--optimize", "s"): {"speed", "size"},
    ("new", "--board", "mps2-an386"): {"mps2-an386", "mps2-an386-nofpu"},
    ("explain", "--pl"): {"--plan", "--place"},
    ("list", "boards", "stm32f7"): {"stm32f7", "stm32f767"},
}
BASH = """
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=(); _aidge_build; echo "${COMPREPLY[@]}"; }
"""


@cache
def script(shell: str) -> str:
    return SHELLS[shell](verbs_of())


def run(shell: str, text: str) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    words = [shell, "--no-config"] if shell == "fish" else [shell, "-f"] if shell == "zsh" else [shell, "--norc"]
    done = subprocess.run([*words], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_the_verb_prints_the_script_with_every_verb_and_option():
    for shell in SHELLS:
        assert aidge_build("completion", shell).stdout == script(shell) + "\n"
        for word in (*VERBS, *(form.selector.removeprefix("--") for form in FORMS)):
            assert word in script(shell)
    for name in ("--memory-model", "--dry-run", "--min-top1"):
        assert name in script("bash") and name in script("zsh") and name.removeprefix("--") in script("fish")


def test_bash_completes_verbs_options_and_values():
    asked = "".join(f"ask aidge-build {' '.join(words)}\n" for words in QUESTIONS)
    answers = run(
        "bash", f"{script('bash')}\n{BASH}{asked}ask aidge-build compile --optimize = si\nask aidge-build compile net\n"
    )
    assert [set(answer.split()) for answer in answers] == [*QUESTIONS.values(), {"size"}, set()]


def test_fish_completes_verbs_options_and_values():
    asked = "".join(f"complete -C 'aidge-build {' '.join(words)}'; echo .\n" for words in QUESTIONS)
    answers = "\n".join(run("fish", f"{script('fish')}\n{asked}")).split("\n.")
    found = [{line.split("\t")[0] for line in answer.strip().split("\n") if line} for answer in answers[:-1]]
    for wanted, answer in zip(QUESTIONS.values(), found, strict=True):
        assert wanted <= answer and all(word in wanted or "/" in word for word in answer), (wanted, answer)


def test_zsh_reads_the_script():
    assert run("zsh", f"autoload -Uz compinit; compinit -u -D\n{script('zsh')}\necho $_comps[aidge-build]\n") == ["_aidge_build"]
