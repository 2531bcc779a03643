# SPDX-License-Identifier: MIT
"""This repository's own SConstruct: options, verbs and what it leaves in the source tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy
import pytest

from aidge_build.base.version import VERSION
from tests.build.checkout import ROOT, copy_of_checkout
from tests.build.conftest import Run
from tests.models import model
from tests.programs import needs_cross_compiler
from tests.served import scons as served_scons
from tests.served import served_python


def scons(*words: str, folder: Path = ROOT, generator: str | None = None) -> Run:
    """A run of SCons, whose generator is a fork of a process with the package of this checkout, or started by `generator`."""
    return Run(*served_scons(folder, *words, env={**os.environ, "AIDGE_TEST_PYTHON": generator or served_python()}))


@pytest.fixture
def build(tmp_path) -> str:
    return f"build={tmp_path / 'out'}"


def test_a_misspelled_option_is_an_error_with_the_valid_ones(build):
    done = scons("bord=stm32f7", build)
    assert done.exit_code == 2
    assert (
        done.output
        == "SConstruct: there is no option 'bord'; did you mean 'board'? options: board, boards, build, cache, check, count, "
        "example, kinds, minutes, models, part, rooms, seed, tests, update, verbose\n"
    )


def test_a_misspelled_board_is_an_error_with_the_valid_ones(build):
    done = scons("board=stm32f8", build)
    assert done.exit_code == 2
    assert done.output.startswith("SConstruct: there is no board 'stm32f8'; did you mean 'stm32f")
    assert "mps3-an547" in done.output and done.output.count("\n") == 1


def test_a_misspelled_verb_is_an_error_with_the_valid_ones(build):
    done = scons("reprot", build)
    assert done.exit_code == 2
    assert (
        done.output.startswith("SConstruct: there is no verb 'reprot'; did you mean 'report'? verbs: bench, ")
        and done.output.count("\n") == 1
    )


def test_a_misspelled_example_is_an_error_with_the_valid_ones(build):
    done = scons("example=digit", build)
    assert done.exit_code == 2 and "did you mean 'digits'?" in done.output


def test_the_help_lists_options_boards_examples_and_verbs(build):
    text = scons("-h", build).output
    assert all(word in text for word in ("board", "stm32f7", "example", "digits", "verbose", "run", "test", "doctor"))


def test_the_verb_test_reads_no_example_and_needs_no_compiler(build):
    done = scons("-n", "test", build)
    assert done.exit_code == 0 and done.output.strip() == "TEST", done.output


@needs_cross_compiler
def test_the_readmes_command_classifies_the_digits_on_the_emulated_board_and_writes_nothing_into_the_source_tree(
    command, build, tmp_path
):
    folder = copy_of_checkout(tmp_path / "checkout", compiled=False)
    before = {path.relative_to(folder) for path in folder.rglob("*")}
    done = scons("board=stm32f7", build, "run", folder=folder)
    assert done.exit_code == 0, done.output
    images, correct, percent = re.search(r"(\d+) images, (\d+) correct, ([0-9.]+) %", done.output).groups()
    assert images == "450" and float(percent) >= 97.0
    assert re.search(r"instructions, [\d,]+ per inference on STM32F746", done.output)
    again = scons("board=stm32f7", build, folder=folder)
    assert again.output.count("\n") == 1 and again.output.endswith("is up to date.\n")
    after = {path.relative_to(folder) for path in folder.rglob("*")}
    assert {path for path in after - before if "__pycache__" not in path.parts} == set()


def test_a_checkout_generates_with_its_own_package_and_kernels_whatever_is_installed(tmp_path):
    """The package that is installed beside this Python is that of another folder."""
    folder, words = copy_of_checkout(tmp_path / "checkout"), ("board=host", "generated-sources")
    version, kernel = folder / "aidge_build/base/version.py", folder / "kernels/ref/int8/conv2d_int8.h"
    version.write_text(version.read_text().replace(VERSION, "9.8.7"))
    assert scons(*words, folder=folder, generator=sys.executable).output.count("AIDGE ") == 1
    assert json.loads((folder / "build/host/digits/digits.plan.json").read_text())["claim"]["tool"] == "9.8.7"
    kernel.write_text("/* mine */\n" + kernel.read_text())
    assert scons(*words, folder=folder, generator=sys.executable).output.count("AIDGE ") == 1


EXAMPLES = (
    "anomaly",
    "digits",
    "hello",
    "keyword",
    "retrained",
    "story",
    "stripes",
)  # models of theirs that lie beside their builds


def test_a_matrix_is_shared_out_without_gaps_and_without_doubles(command, build):
    def cells(part: str) -> set[str]:
        done = scons("-n", "matrix", "boards=host,stm32f4", f"part={part}", build)
        assert done.exit_code == 0, done.output
        return set(re.findall(r"^AIDGE .*matrix/([^/]+/[^/]+)/", done.output, re.MULTILINE))

    first, second = cells("1/2"), cells("2/2")
    assert (
        first | second == cells("1/1") == {f"{board}/{example}" for board in ("host", "stm32f4") for example in EXAMPLES}
        and not first & second
    )


def test_a_matrix_says_how_far_it_is_also_where_firmware_is_up_to_date(command, build, tmp_path):
    words = ["matrix", "boards=host", build]
    for name in ("one", "two"):
        (tmp_path / f"{name}.onnx").write_bytes(model("y = Relu(x)", inputs="float[1,40] x", outputs="float[1,40] y"))
    assert re.findall(r"^CHECK .*one.elf   (.*)$", scons(*words, f"models={tmp_path}/one.onnx").output, re.MULTILINE) == [
        "1 of 1"
    ]
    both = scons(*words, f"models={tmp_path}/*.onnx")
    assert re.findall(r"^CHECK .*/(\w+).elf   (.*)$", both.output, re.MULTILINE) == [("two", "2 of 2")], both.output


@pytest.mark.parametrize(
    "words, message",
    [
        (["part=3/2"], "part=3/2 is no share; write part=2/4"),
        (["models=*.x"], "models=*.x names no file"),
        (["boards=host,stm32f8"], "there is no board 'stm32f8'; did you mean 'stm32f"),
    ],
)
def test_a_wrong_matrix_is_refused_in_one_line(command, build, words, message):
    done = scons("matrix", *words, build)
    assert done.exit_code == 2 and message in done.output and done.output.count("\n") == 1


@needs_cross_compiler
def test_the_verb_bench_compares_with_the_recorded_figures_and_ends_with_its_own_exit_code(tmp_path):
    """In a copy whose neighbour is a folder with one tiny model: SCons alone would end with 2 whatever happened."""
    folder = tmp_path / "main"
    folder.mkdir()
    shutil.copytree(ROOT / "docs", folder / "docs")
    for name in ("SConstruct", "aidge_build", "boards", "examples", "kernels", "site_scons", "tools"):
        (folder / name).symlink_to(ROOT / name)
    assert scons("bench", "boards=mps2-an386", folder=folder).exit_code == 3  # nothing lies beside the checkout
    models = tmp_path / "shared" / "models" / "mlperf_tiny"
    models.mkdir(parents=True)
    (models / "toy_float.onnx").write_bytes(model("y = Relu(x)", inputs="float[1,40] x", outputs="float[1,40] y"))
    numpy.savez(models / "toy_io.npz", x=numpy.linspace(-3, 3, 40, dtype=numpy.float32).reshape(1, 1, 40))
    updated = scons("bench", "boards=mps2-an386", "--update", folder=folder)
    record = folder / "docs" / "benchmarks.json"
    assert updated.exit_code == 0 and "toy" in (folder / "docs" / "benchmarks.md").read_text(), updated.output
    assert (folder / "build" / "bench.json").is_file() and "toy" in (folder / "build" / "bench.html").read_text()
    count = json.loads(record.read_text())["results"][0]["instructions"]
    record.write_text(record.read_text().replace(f'"instructions": {count}', f'"instructions": {count - 1}'))
    worse = scons("bench", "boards=mps2-an386", "--check", folder=folder)
    assert worse.exit_code == 1 and "(+1)" in worse.output
