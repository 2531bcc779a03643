# SPDX-License-Identifier: MIT
"""`aidge-build new`: the project that it makes builds and runs at once; tests/docs/test_first_run.py runs one for SCons."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.build.checkout import run_in, scons_in
from tests.build.known_compiler import begin_build
from tests.command import aidge_build
from tests.models import model
from tests.programs import needs_cross_compiler
from tests.served import served

ANSWER = "output: -12 9 -35 -20 -41 -28 -19 -46 10 -19\n"


def check_compile_commands(path: Path) -> None:
    files = {Path(entry["file"]).name for entry in json.loads(path.read_text())}
    assert files >= {"main.c", "digits.c", "digits_weights.c"}


@pytest.fixture
def own_board(tmp_path) -> Path:
    """A folder with the board `mine`."""
    (tmp_path / "boards").mkdir()
    (tmp_path / "boards/mine.toml").write_text('extends = "mps2-an386"\ntitle = "my board"\n')
    return tmp_path / "boards"


@pytest.mark.parametrize("board", ["host", pytest.param("mine", marks=needs_cross_compiler)])
def test_a_cmake_project_runs_also_on_a_board_of_ones_own(tmp_path, board, own_board, monkeypatch):
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin/aidge-build"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(served("aidge_build"))} "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "my-demo"
    where = ("--board-path", own_board) if board == "mine" else ()
    made = aidge_build("new", folder, "--build", "cmake", "--board", board, *where)
    assert made.exit_code == 0 and f"cmake --preset {board} && cmake --build build --target run" in made.stdout
    if board == "host":
        begin_build(folder / "build", "Ninja")
    else:  # in the folder that the preset uses afterwards
        without = subprocess.run(["cmake", "-B", "build", "-G", "Ninja"], cwd=folder, capture_output=True, text=True)
        assert without.returncode and "type cmake --preset mine" in " ".join(without.stderr.split())
    run_in(folder, "cmake", "--preset", board, "-G", "Ninja")
    output = run_in(folder, "cmake", "--build", "build", "--target", "run")
    assert ANSWER in output and "warning:" not in output
    check_compile_commands(folder / "build/compile_commands.json")


@pytest.mark.parametrize("build, file", [("scons", "SConstruct"), ("cmake", "CMakeLists.txt"), ("scons", "README.md")])
def test_a_project_names_the_folder_of_its_board_by_the_way_from_there(tmp_path, own_board, build, file):
    assert aidge_build("new", tmp_path / "deep/demo", "--build", build, "--board=mine", "--board-path", own_board).exit_code == 0
    text = (tmp_path / "deep/demo" / file).read_text()
    assert text.count("../../boards") == (1 if file == "README.md" else 2) and str(tmp_path) not in text


@pytest.mark.parametrize("board, kind", [("host", "cppdbg"), ("stm32f7", "cortex-debug"), ("mps2-an386", "cortex-debug")])
def test_the_debugger_configuration_is_json_and_names_the_program(tmp_path, board, kind):
    assert aidge_build("new", tmp_path / "demo", "--board", board).exit_code == 0
    (configuration,) = json.loads((tmp_path / "demo/.vscode/launch.json").read_text())["configurations"]
    assert configuration["type"] == kind
    assert "${workspaceFolder}/build/demo.elf" in configuration.values()


def test_a_model_of_ones_own_with_several_inputs_and_floats_compiles_and_runs(command, tmp_path):
    path = tmp_path / "2 sums.onnx"
    path.write_bytes(
        model("y = Add(a, b)\n z = Sub(a, b)", inputs="float[1,3] a, float[1,3] b", outputs="float[1,3] y, float[1,3] z")
    )
    assert aidge_build("new", tmp_path / "demo", "--model", path).exit_code == 0
    main = (tmp_path / "demo/src/main.c").read_text()
    assert '#include "model_2_sums.h"' in main and "model_2_sums_run(a, b, y, z)" in main
    assert "y in thousandths: 0 0 0\nz in thousandths: 0 0 0\n" in scons_in(tmp_path / "demo", "run")


def test_a_model_of_the_zoo_comes_with_a_sample_and_the_program_compares_its_result_with_numpy(command, tmp_path):
    assert aidge_build("new", tmp_path / "demo", "--model", "zoo:keyword").exit_code == 0
    printed = scons_in(tmp_path / "demo", "run")
    assert "output: 1\nlabel of the sample: 1\nas numpy computes it\n" in printed and "warning:" not in printed
    sample = tmp_path / "demo/src/sample.h"
    text = sample.read_text()
    sample.write_text(text.replace("expected_output[1] = {\n1", "expected_output[1] = {\n2"))
    with pytest.raises(AssertionError, match="NOT as numpy computes it"):  # the program ends with 1
        scons_in(tmp_path / "demo", "run")


@pytest.mark.parametrize("recording", [0, 27, [1, 2], 1.5])
def test_a_recording_that_the_samples_do_not_hold_is_refused(tmp_path, recording):
    numpy.savez(tmp_path / "hops.npz", x=numpy.zeros((26, 1, 160), numpy.int16), recording=recording)
    refused = aidge_build("new", tmp_path / "demo", "--model", "zoo:keyword", "--samples", tmp_path / "hops.npz")
    assert refused.exit_code == 2 and "array recording is no number from 1 to 26" in refused.stderr


def test_samples_of_ones_own_are_compared_within_the_tolerance_of_floats(tmp_path):
    path, samples = tmp_path / "sums.onnx", tmp_path / "samples.npz"
    path.write_bytes(model("y = Add(a, b)", inputs="float[1,3] a, float[1,3] b", outputs="float[1,3] y"))
    numpy.savez(samples, a=numpy.float32([[[1, 2, 3]]]), b=numpy.float32([[[10, 20, 30]]]))
    assert aidge_build("new", tmp_path / "demo", "--model", path, "--samples", samples).exit_code == 0
    text, main = (tmp_path / "demo/src/sample.h").read_text(), (tmp_path / "demo/src/main.c").read_text()
    assert "expected_output[3] = {\n11.0f, 22.0f, 33.0f" in text and "label" not in main
    assert "sums_run(&sample_a[step * SUMS_A_SIZE], &sample_b[step * SUMS_B_SIZE], output)" in main
    numpy.savez(samples, a=numpy.float32([[[1, 2, 3]]]))
    refused = aidge_build("new", tmp_path / "other", "--model", path, "--samples", samples)
    assert refused.exit_code == 2 and "there is no array for input 'b'" in refused.stderr and str(samples) in refused.stderr
    assert "wrong |= !(fabsf(output[i] - expected_output[i]) <= 0.0033f);" in main


@pytest.mark.parametrize(
    "words, message",
    [
        (["full"], "exists already, and is not an empty folder"),
        (["a b"], "is not a program name"),
        (["demo", "--board", "stm32f8"], "there is no board 'stm32f8'. Hint: did you mean 'stm32f"),
        (["demo", "--build", "meson"], "invalid choice"),
        (["demo", "--model", "gone.onnx"], "cannot be read"),
        (["demo", "--model", "zoo:gone"], "there is no model 'gone' in the zoo"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_and_nothing_is_made(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("")
    done = aidge_build("new", *words)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full"]


@pytest.mark.requirement("USAGE")
def test_a_folder_of_boards_that_no_build_file_can_name_is_refused(tmp_path, own_board):
    own_board.rename(tmp_path / "my $boards")
    done = aidge_build("new", tmp_path / "demo", "--board=mine", "--board-path", tmp_path / "my $boards")
    assert done.exit_code == 2 and "no build file can name this folder. Hint: move it" in done.stderr
    assert not (tmp_path / "demo").exists()
