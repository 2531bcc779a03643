# SPDX-License-Identifier: MIT
"""`aidge-build init`: what it prints for a firmware of others is done, and the model is in the program."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aidge_build.base.installed import cmake_folder
from tests.build.checkout import ROOT, run_in, scons_in
from tests.build.known_compiler import begin_build
from tests.command import aidge_build
from tests.served import served

STRESS = "AIDGE_STRESS" in os.environ
MAIN = """#include <stdio.h>
#include "hello.h"

int main(void)
{
    const float switches[2] = {1.0f, 0.0f};
    float lamp[1];
    int code = hello_run(switches, lamp);
    printf("lamp %.1f\\n", (double)lamp[0]);
    return code;
}
"""
SCONS = """# a firmware
import os

target = Environment(
    tools=["gcc", "gnulink"],
    ENV=os.environ,
    LIBS=["m"],
)
target.Program("app", ["main.c"])
"""
SCONS_NAMED = """e = Environment(tools=["gcc", "gnulink"])
sources = Glob("*.c")
firmware = e.Program(
    "app",
    sources,
    LIBS=["m"],
)
Default(firmware)
"""
CMAKE = """cmake_minimum_required(VERSION 3.20)
# add_executable(no main.c)
project(firmware
        LANGUAGES C)
add_executable(app
  main.c)
target_link_libraries(app PRIVATE m)
"""
OBJECTS = """CC = cc
OBJS = \\
  main.o
app.elf: $(OBJS)
\t$(CC) -o $@ $(OBJS) -lm
"""
SOURCES = """CC = cc
C_SOURCES = main.c
INCLUDES = -Iinc
OBJECTS = $(addprefix out/,$(notdir $(C_SOURCES:.c=.o)))
app.elf: $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS) -lm
out/%.o: %.c
\tmkdir -p out
\t$(CC) $(INCLUDES) -c -o $@ $<
"""


def _from_below(step: dict) -> tuple[float, int]:
    """The order in which numbers of lines stay true; what replaces a line comes before what is put in front of it."""
    return -(1e9 if step["after"] is None else step["after"]), -step["replaced"]


def adopted(folder: Path, files: dict[str, str], *others: str) -> dict:
    """Does what `init` says, and nothing else; returns that."""
    (folder / "models").mkdir()
    shutil.copy(ROOT / "examples/hello/hello.onnx", folder / "models")
    (folder / "main.c").write_text(MAIN)
    for name, text in files.items():
        (folder / name).write_text(text)
    said = aidge_build("init", "models/hello.onnx", "--folder", folder)
    advice = aidge_build("init", "models/hello.onnx", "--folder", folder, "--json").json
    assert said.exit_code == 0 and {path.name for path in folder.iterdir()} == {"models", "main.c", *files, *others}
    printed = said.stdout.splitlines()
    assert [line for step in advice["steps"] for line in step["lines"] if f"    {line.expandtabs()}" not in printed] == []
    assert (ROOT / advice["page"]).is_file()
    for copy in advice["copies"]:
        shutil.copy(copy["from"], folder / copy["to"])
    texts: dict[str, list[str]] = {}
    for step in sorted(advice["steps"], key=_from_below):
        lines = texts.setdefault(step["file"], (folder / step["file"]).read_text().splitlines())
        place = len(lines) if step["after"] is None else step["after"]
        lines[place : place + step["replaced"]] = step["lines"]
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return advice


@pytest.fixture
def in_path(tmp_path_factory, monkeypatch):
    """`aidge-build` as an installed package has it."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "aidge-build").write_text(f'#!/bin/sh\nexec {shlex.join(served("aidge_build"))} "$@"\n')
    (folder / "aidge-build").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("text", [SCONS, SCONS_NAMED] if STRESS else [SCONS_NAMED])
def test_a_firmware_of_scons_gets_the_model(tmp_path, in_path, text):
    assert adopted(tmp_path, {"SConstruct": text})["build"] == "SCons"
    printed = scons_in(tmp_path)
    assert "arena hello" in printed and run_in(tmp_path, tmp_path / "app") == "lamp 1.0\n"


def test_a_firmware_of_cmake_gets_the_model(tmp_path, in_path):
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")
    advice = adopted(tmp_path, {"CMakeLists.txt": CMAKE, "Makefile": "all:\n"})
    assert advice["build"] == "CMake" and [step["after"] for step in advice["steps"]] == [4, 6]
    begin_build(tmp_path / "out", "Ninja")
    run_in(tmp_path, "cmake", "-G", "Ninja", "-B", "out")
    assert "arena hello" in run_in(tmp_path, "cmake", "--build", "out")
    assert run_in(tmp_path, tmp_path / "out/app") == "lamp 1.0\n"


CUBE = """cmake_minimum_required(VERSION 3.20)
set(NAME firmware)
project(${NAME} C)
add_executable(${CMAKE_PROJECT_NAME})
add_subdirectory(cmake/generated)
target_link_libraries(${CMAKE_PROJECT_NAME}
    m
)
"""
GENERATED = """target_sources(firmware PRIVATE ../../main.c)
# target_link_libraries(firmware PRIVATE m)
target_link_libraries(%s m)
"""


@pytest.mark.parametrize("spelling", ["firmware", "${PROJECT_NAME}", "${NAME}"])
def test_a_firmware_that_links_without_private_gets_such_a_line(tmp_path, in_path, spelling):
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")
    (tmp_path / "cmake/generated").mkdir(parents=True)
    (tmp_path / "cmake/generated/CMakeLists.txt").write_text(GENERATED % spelling)
    top = CUBE.partition("target_link")[0] if spelling == "firmware" else CUBE
    adopted(tmp_path, {"CMakeLists.txt": top}, "cmake")
    assert "target_link_libraries(${CMAKE_PROJECT_NAME} hello)" in (tmp_path / "CMakeLists.txt").read_text()
    begin_build(tmp_path / "out", "Ninja")
    run_in(tmp_path, "cmake", "-G", "Ninja", "-B", "out")
    if spelling == "firmware":
        assert "arena hello" in run_in(tmp_path, "cmake", "--build", "out")


@pytest.mark.parametrize(
    "files, target, place",
    [
        (
            {"CMakeLists.txt": "project(a)\n", "x.cmake": "function(add t)\n  add_executable(${t} a.c)\nendfunction()\n"},
            "TARGET",
            None,
        ),
        ({"CMakeLists.txt": "project(a)\ninclude(x.cmake)\n", "x.cmake": "add_executable(fw a.c)\n"}, "fw", None),
        ({"CMakeLists.txt": "project(a)\nadd_executable(fw a.c)\ntarget_link_libraries(other m)\n"}, "fw", 2),
        (
            {"CMakeLists.txt": "project(a)\nadd_executable(fw a.c)\n", "b/CMakeLists.txt": "target_link_libraries(fw PUBLIC m)"},
            "fw",
            2,
        ),
    ],
)
def test_init_names_the_program_that_the_project_makes_and_invents_none(tmp_path, files, target, place):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "kws.onnx").touch()
    steps = aidge_build("init", "kws.onnx", "--folder", tmp_path, "--json").json["steps"]
    assert steps[1]["lines"][1:] == [f"target_link_libraries({target} PRIVATE kws)", f"aidge_check_memory({target} kws)"]
    assert steps[1]["after"] == place


def test_init_in_a_folder_whose_programs_are_made_below_says_where(tmp_path):
    """An ExternalProject: what its top configures is the host, which never sees the flags of the firmware."""
    for folder, text in {
        ".": "project(super)\nExternalProject_Add(fw SOURCE_DIR source)\n",
        "source": "project(fw)\nadd_subdirectory(app/blinker)\n",
        "source/app/blinker": "add_executable(blinker main.c)\n",
        "build": "add_executable(copied main.c)\n",
    }.items():
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "CMakeLists.txt").write_text(text)
    (tmp_path / "build/CMakeCache.txt").write_text("")
    done = aidge_build("init", "models/kws.onnx", "--folder", tmp_path)
    assert done.exit_code == 2 and "this folder makes no program of its own" in done.stderr and done.stderr.count("\n") == 1
    assert "aidge-build new --existing ../../../models/kws.onnx --folder FOLDER/source/app/blinker" in done.stderr
    again = aidge_build("init", "models/kws.onnx", "--folder", tmp_path, "--name", "ears")
    assert "aidge-build new --existing ../../../models/kws.onnx --name ears --folder FOLDER/source/app/blinker" in again.stderr
    (tmp_path / "source/app/blinker/kws.onnx").touch()
    below = aidge_build("init", "kws.onnx", "--folder", tmp_path / "source/app/blinker", "--json").json
    assert "target_link_libraries(blinker PRIVATE kws)" in below["steps"][1]["lines"]


def test_a_component_for_esp_idf_keeps_the_name_that_was_given(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("include($ENV{IDF_PATH}/tools/cmake/project.cmake)\nproject(a)\n")
    (tmp_path / "kws.onnx").touch()
    (step,) = aidge_build("init", "kws.onnx", "--folder", tmp_path, "--name", "ears", "--json").json["steps"]
    assert step["lines"] == ["aidge-build package kws.onnx --name ears --for espidf --out components"]


def test_a_firmware_of_cmake_whose_environment_is_not_active_says_what_to_give_and_that_works(tmp_path):
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")
    adopted(tmp_path, {"CMakeLists.txt": CMAKE})
    path = os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if not (Path(folder) / "aidge-build").exists()
    )
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}

    begin_build(tmp_path / "out", "Ninja")

    def configured(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["cmake", "-G", "Ninja", "-B", "out", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    done = configured()
    said = " ".join(done.stderr.split())
    assert done.returncode == 1 and "Activate its Python environment" in said and "-Daidge_build_DIR=FOLDER" in said
    unnamed = configured(f"-Daidge_build_DIR={cmake_folder()}", "-DAIDGE_EXECUTABLE=no-such-program")
    said = " ".join(unnamed.stderr.split())
    assert unnamed.returncode == 1 and "-DAIDGE_EXECUTABLE=ENVIRONMENT/bin/aidge-build" in said
    given = configured(f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={sys.executable};-m;aidge_build")
    assert given.returncode == 0, given.stderr


@pytest.mark.parametrize("text", [OBJECTS, SOURCES] if STRESS else [SOURCES])
def test_a_firmware_of_make_gets_the_model(tmp_path, in_path, text):
    if not shutil.which("make"):
        pytest.skip("needs make")
    assert adopted(tmp_path, {"Makefile": text})["build"] == "GNU make"
    assert "arena hello" in run_in(tmp_path, "make", "app.elf")
    assert run_in(tmp_path, tmp_path / "app.elf") == "lamp 1.0\n"


@pytest.mark.parametrize(
    "files, build, wanted",
    [
        ({"rtconfig.py": "", "SConstruct": "TARGET = 'a'\n"}, "RT-Thread", "env.AidgeCheck(TARGET)"),
        ({"platformio.ini": "[platformio]\n[env:nucleo]\nboard = x\n"}, "PlatformIO", "custom_aidge_models = models/hello.onnx"),
        (
            {"prj.conf": "", "CMakeLists.txt": "find_package(Zephyr REQUIRED)\nproject(a)\n"},
            "Zephyr",
            "zephyr_aidge_model(hello MODEL models/hello.onnx)",
        ),
        (
            {"CMakeLists.txt": "include($ENV{IDF_PATH}/tools/cmake/project.cmake)\nproject(a)\n"},
            "ESP-IDF",
            "aidge-build package models/hello.onnx --for espidf --out components",
        ),
        (
            {
                "CMakeLists.txt": "include($ENV{IDF_PATH}/tools/cmake/project.cmake)\nproject(a)\n",
                "sdkconfig": '# made by idf.py\nCONFIG_IDF_TARGET="esp32c3"\n',
            },
            "ESP-IDF",
            "aidge-build package models/hello.onnx --for espidf --cpu rv32imc --out components",
        ),
        (
            {"Makefile": "CFLAGS = -mcpu=cortex-m4\n"},
            "GNU make",
            "$(eval $(call aidge_model,hello,models/hello.onnx,--cpu=cortex-m4 --fpu=auto))",
        ),
        (
            {"Makefile": "PREFIX = riscv-none-elf-\nCFLAGS = -march=rv32imac_zicsr -mabi=ilp32\n"},
            "GNU make",
            "$(eval $(call aidge_model,hello,models/hello.onnx,--cpu=rv32imac_zicsr+ilp32))",
        ),
        (
            {"SConstruct": "SConscript('src/SConscript')\n"},
            "SCons",
            'app = env.Program("app.elf", ["main.c", hello])',
        ),
        (
            {"Makefile": "INCDIR = inc\nSRCS = main.c\nOBJS = $(SRCS:.c=.o)\nCFLAGS = -MMD $(addprefix -I,$(INCDIR))\n"},
            "GNU make",
            "INCDIR += $(AIDGE_INCLUDE_DIRS)",
        ),
        ({"Makefile": "SRCS = main.c\nOBJS = $(SRCS:.c=.o)\nCFLAGS = -MMD\n"}, "GNU make", "$(OBJS): | $(AIDGE_HEADERS)"),
        ({"Makefile": "SRCS = main.c\nOBJS = $(SRCS:.c=.o)\nCFLAGS = -O2\n"}, "GNU make", "$(OBJS): $(AIDGE_HEADERS)"),
        ({"SConstruct": "this is no Python\n"}, "SCons", "env.AidgeCheck(app)"),
    ],
)
def test_other_builds_are_known_by_their_files(tmp_path, files, build, wanted):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    model = tmp_path / "models/hello.onnx"
    model.parent.mkdir()
    model.touch()
    found = aidge_build("init", "models/hello.onnx", "--folder", tmp_path, "--json").json
    assert found["build"] == build and wanted in [line for step in found["steps"] for line in step["lines"]]
    assert all(Path(copy["from"]).is_file() for copy in found["copies"])
    assert " already" not in aidge_build("init", "models/hello.onnx", "--folder", tmp_path).stdout
    assert {name: (tmp_path / name).read_text() for name in files} == files


@pytest.mark.parametrize(
    "files",
    [{"SConstruct": SCONS}, {"SConstruct": SCONS_NAMED}, {"CMakeLists.txt": CMAKE}, {"Makefile": OBJECTS}, {"Makefile": SOURCES}],
)
def test_a_firmware_that_has_the_lines_is_not_told_to_add_them_again_and_another_model_gets_its_own(tmp_path, files):
    adopted(tmp_path, files)
    ((name, text),) = ((name, (tmp_path / name).read_text()) for name in files)
    for line, with_options in (
        ('"models/hello.onnx",', '"models/hello.onnx", optimize="size",'),
        ("hello.onnx)\n", "hello.onnx IO arena)\n"),
    ):
        text = text.replace(line, with_options)
    (tmp_path / name).write_text(text)
    again = aidge_build("init", "models/hello.onnx", "--folder", tmp_path)
    assert again.exit_code == 0 and "has the lines of hello already" in again.stdout and "after line" not in again.stdout
    shutil.copy(tmp_path / "models/hello.onnx", tmp_path / "models/other.onnx")
    steps = aidge_build("init", "models/other.onnx", "--folder", tmp_path, "--json").json["steps"]
    lines = [line for step in steps for line in step["lines"]]
    assert any("models/other.onnx" in line for line in lines) and "find_package(aidge_build CONFIG REQUIRED)" not in lines


@pytest.mark.parametrize(
    "words, message",
    [
        (["a.onnx"], "this folder has no build file that is supported"),
        (["a b.onnx"], "this path does not fit into every build file"),
        (["$x"], "fit into every build file"),
    ],
)
def test_what_it_cannot_help_with_is_one_line(tmp_path, words, message):
    done = aidge_build("init", *words, "--folder", tmp_path)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_a_model_may_be_named_by_its_path_from_the_shell_and_the_lines_have_its_path_from_the_firmware(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app/models").mkdir(parents=True)
    (tmp_path / "app/Makefile").write_text("SRCS = main.c\n")
    for place in ("app/models/kws.onnx", "mine.tflite", "models/kws.onnx"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).touch()
    for typed, printed in (
        ("mine.tflite", "../mine.tflite"),
        ("app/models/kws.onnx", "models/kws.onnx"),
        ("models/kws.onnx", "models/kws.onnx"),
    ):
        done = aidge_build("new", "--existing", typed, "--folder", "app")
        assert done.exit_code == 0 and f",{printed}," in done.stdout, done.stderr


def test_a_model_that_is_not_there_is_refused_with_the_ones_that_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app/models").mkdir(parents=True)
    (tmp_path / "app/Makefile").write_text("SRCS = main.c\n")
    (tmp_path / "app/models/kws.onnx").touch()
    done = aidge_build("init", "models/kwz.onnx", "--folder", "app")
    assert done.exit_code == 2 and "models/kwz.onnx: there is no such file in app. Tried: models/kws.onnx." in done.stderr
    done = aidge_build("new", "--existing", "kws.onnx", "--folder", "app/models/..")
    assert done.exit_code == 2 and not done.stdout
