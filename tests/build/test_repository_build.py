# SPDX-License-Identifier: MIT
"""This repository's own SConstruct: options, verbs and what it leaves in the source tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def scons(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "SCons", "-Q", *words], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def build(tmp_path) -> str:
    return f"build={tmp_path / 'out'}"


def test_a_misspelled_option_is_an_error_with_the_valid_ones(build):
    done = scons("bord=stm32f7", build)
    assert done.returncode == 2
    assert done.stderr == "SConstruct: there is no option 'bord'; did you mean 'board'? options: board, build, example, verbose\n"


def test_a_misspelled_board_is_an_error_with_the_valid_ones(build):
    done = scons("board=stm32f8", build)
    assert done.returncode == 2
    assert done.stderr.startswith("SConstruct: there is no board 'stm32f8'; did you mean 'stm32f")
    assert "mps3-an547" in done.stderr and done.stderr.count("\n") == 1


def test_a_misspelled_example_is_an_error_with_the_valid_ones(build):
    done = scons("example=digit", build)
    assert done.returncode == 2 and "did you mean 'digits'?" in done.stderr


def test_the_help_lists_options_boards_examples_and_verbs(build):
    text = scons("-h", build).stdout
    assert all(word in text for word in ("board", "stm32f7", "example", "digits", "verbose", "run", "test", "doctor"))


def test_the_verb_test_reads_no_example_and_needs_no_compiler(build):
    done = scons("-n", "test", build)
    assert done.returncode == 0 and done.stdout.strip() == "TEST", done.stderr
