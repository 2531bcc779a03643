# SPDX-License-Identifier: MIT
"""This repository's own SConstruct: options, verbs and what it leaves in the source tree."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import needs_cross_compiler

ROOT = Path(__file__).resolve().parents[2]


def scons(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "SCons", "-Q", *words], cwd=folder, capture_output=True, text=True, check=False)


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


@pytest.fixture
def command():
    """The command that the SConstruct finds; it is there after any ./sconsw."""
    if not (Path(sys.executable).parent / "aidge-build").exists():
        pytest.skip(f"aidge-build is not beside {sys.executable}: run the tests with ./sconsw test")


def copy_of_checkout(folder: Path) -> Path:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@needs_cross_compiler
def test_the_readmes_command_classifies_the_digits_on_the_emulated_board(command, build):
    done = scons("board=stm32f7", build, "run")
    assert done.returncode == 0, done.stdout + done.stderr
    images, correct, percent = re.search(r"(\d+) images, (\d+) correct, ([0-9.]+) %", done.stdout).groups()
    assert images == "450" and float(percent) >= 97.0
    assert re.search(r"instructions, [\d,]+ per inference on STM32F746", done.stdout)
    again = scons("board=stm32f7", build)
    assert again.stdout.count("\n") == 1 and again.stdout.endswith("is up to date.\n")


@needs_cross_compiler
def test_the_elf_does_not_depend_on_the_place_of_the_checkout(command, tmp_path):
    elves = []
    for name in ("one", "änother place"):
        folder = copy_of_checkout(tmp_path / name)
        done = scons("board=stm32f7", folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        elves.append((folder / "build/stm32f7/digits/digits.elf").read_bytes())
    assert elves[0] == elves[1]


@needs_cross_compiler
def test_a_build_writes_nothing_into_the_source_tree(command, tmp_path):
    folder = copy_of_checkout(tmp_path / "checkout")
    before = {path.relative_to(folder) for path in folder.rglob("*")}
    assert scons("board=stm32f7", f"build={tmp_path / 'out'}", folder=folder).returncode == 0
    after = {path.relative_to(folder) for path in folder.rglob("*")}
    assert {path for path in after - before if "__pycache__" not in path.parts} == set()
