# SPDX-License-Identifier: MIT
"""Every option of the table, given in SCons and in CMake: both hand `aidge-build` the same words, and it takes them."""

from __future__ import annotations

import argparse
import re
import shutil
import sys

import pytest

from aidge_build.base.installed import cmake_folder
from aidge_build.base.options import MODEL, Option
from aidge_build.base.options.option import CMAKE, SCONS
from aidge_build.build.inputs import add_model_arguments
from tests.build.conftest import STUB, Project
from tests.build.known_compiler import WORKS, begin_build

OPTIONS = tuple(option for option in MODEL.options if option.name != "board")  # the core is named instead
SAMPLES = {
    "list": ["a", "b"],
    "pairs": {"n": "1", "m": "2"},
    "file": "some.file",
    "folders": ["one", "two"],
    "checkouts": {"glue": "one"},
    "number": "7",
    "decimal": "7.5",
}


def sample(option: Option):
    return option.values[-1] if option.values else option.unlimited or SAMPLES.get(option.kind, "cortex-m4")


def in_cmake(option: Option) -> str:
    value = sample(option)
    words = (
        [f"{name}={text}" for name, text in value.items()]
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else [value]
    )
    return " ".join([option.name_in(CMAKE), *words])


@pytest.fixture
def firmware(project: Project) -> Project:
    for folder in ("one", "two"):
        project.write(f"{folder}/readme", "")
    project.write("some.file", "")
    return project


def words_in_scons(project: Project) -> list[str]:
    given = {option.name_in(SCONS): sample(option) for option in OPTIONS}
    project.sconstruct(f"env.AidgeModel('kws', 'kws.onnx', **{given!r})")
    run = project.scons("-n", "verbose=1", "kws.c")
    assert run.exit_code == 0, run.output
    return [
        word
        for word in run.output.split()
        if word.startswith("--") and word != "--" and word.partition("=")[0] not in ("--out", "--name")
    ]


def words_in_cmake(project: Project) -> list[str]:
    call = "\n  ".join(in_cmake(option) for option in OPTIONS)
    project.write(
        "CMakeLists.txt",
        f'cmake_minimum_required(VERSION 3.20)\nproject(p LANGUAGES C)\ninclude("{cmake_folder()}/aidge_build-config.cmake")\n'
        f"aidge_add_model(kws MODEL kws.onnx\n  {call})\n",
    )
    begin_build(project.folder / "build", "Unix Makefiles")
    words = ("-G", "Unix Makefiles", f"-DAIDGE_EXECUTABLE={sys.executable};{STUB}", WORKS)
    assert project.run("cmake", "-S", ".", "-B", "build", *words).exit_code == 0
    text = project.read("build/aidge/kws/kws.options").replace(f"{project.folder}/", "")
    return [word for word in text.splitlines() if re.match(r"--(?!(?:out|name|depfile|stamp)(?:=|$)|$)", word)]


def test_scons_hands_every_option_to_the_generator(firmware):
    words = words_in_scons(firmware)
    assert {word.partition("=")[0] for word in words} == {f"--{option.name}" for option in OPTIONS}
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    given = vars(parser.parse_args([*words, "--", "kws.onnx"]))
    assert all(
        given[option.argument] not in (None, [], option.default) for option in OPTIONS if option.values[-1:] != (option.default,)
    )


def test_cmake_hands_the_same_words_to_the_generator_as_scons(firmware):
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    assert sorted(words_in_cmake(firmware)) == sorted(words_in_scons(firmware))


def test_a_budget_may_be_a_number_of_bytes(firmware):
    firmware.sconstruct("env.AidgeModel('kws', 'kws.onnx', ram_budget=20480)")
    run = firmware.scons("-n", "verbose=1", "kws.c")
    assert run.exit_code == 0 and "--ram-budget=20480" in run.output.split(), run.output
