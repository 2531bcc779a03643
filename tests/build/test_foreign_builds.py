# SPDX-License-Identifier: MIT
"""Builds that own their environment: compile databases, the ninja tool, interactive runs, several boards side by side."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from tests.build.conftest import MODEL

MODEL_LINES = "kws = env.AidgeModel('kws', 'kws.onnx')\napp = env.Program('app.elf', ['main.c', kws])\n"


def test_a_compile_database_names_the_generated_files_before_they_exist(project):
    project.sconstruct("env.Tool('compilation_db')\ndatabase = env.CompilationDatabase()\n" + MODEL_LINES)
    assert project.build("compile_commands.json") == []
    entries = {entry["file"] for entry in json.loads(project.read("compile_commands.json"))}
    assert entries == {"main.c", "kws.c", "kws_weights.c"}


def test_the_alias_generated_sources_makes_what_editors_need_and_compiles_nothing(project):
    project.write("vad.onnx", MODEL)
    project.sconstruct(MODEL_LINES + "env.AidgeModel('vad', 'vad.onnx')")
    assert sorted(project.build("generated-sources")) == ["AIDGE kws.c", "AIDGE vad.c"]
    assert (project.folder / "kws.h").exists() and (project.folder / "vad.h").exists()


def test_the_ninja_tool_of_scons_builds_the_same_program(project):
    if importlib.util.find_spec("ninja") is None:
        pytest.skip("needs the Python package ninja")
    project.sconstruct("SetOption('experimental', 'ninja')\nenv.Tool('ninja')\n" + MODEL_LINES)
    assert project.scons().exit_code == 0
    assert subprocess.run([project.folder / "app.elf"], check=False).returncode == 0


def test_an_interactive_run_sees_a_change_of_the_model(project):
    project.write("kws2.onnx", "topology=A\nweights=2\n")
    done = subprocess.run(
        [sys.executable, "-m", "SCons", "-Q", "--interactive"],
        cwd=project.folder,
        text=True,
        capture_output=True,
        input="build app.elf\nbuild app.elf\nshell cp kws2.onnx kws.onnx\nbuild app.elf\nexit\n",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _, first, second, _, third, _ = done.stdout.split("scons>>> ")
    assert "AIDGE" in first and "up to date" in second
    assert "AIDGE" in third and "CC kws_weights.o" in third and "CC kws.o" not in third and "LINK app.elf" in third


def test_several_boards_side_by_side_keep_their_files_apart(project):
    for name in ("main.c", "kws.onnx"):
        project.write("src/" + name, project.read(name))
    project.write("src/SConscript", "Import('env')\nenv.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx')])\n")
    project.sconstruct(
        "for board in ('one', 'two'):\n    local = env.Clone(AIDGE_BOARD=board)\n"
        "    SConscript('src/SConscript', exports={'env': local}, variant_dir='build/' + board, duplicate=0)\n"
    )
    assert sorted(project.build("-j2")).count("AIDGE kws.c") == 2
    plans = [json.loads(project.read(f"build/{board}/kws.plan.json"))["options"]["--board"] for board in ("one", "two")]
    assert plans == [["one"], ["two"]] and project.build() == []
    project.write(
        "SConstruct", project.read("SConstruct").replace("AIDGE_BOARD=board)", "AIDGE_BOARD=board.replace('two', 'new'))")
    )
    assert project.build() == ["AIDGE kws.c", "CC kws.o", "LINK app.elf"]


def test_flags_given_as_strings_stay_as_they_are(project):
    project.sconstruct(
        "env.Replace(CCFLAGS='-O1 -Wall -Wextra -Werror -Wstrict-prototypes', CPPPATH='include', CPPDEFINES='A=1')\n"
        + MODEL_LINES
    )
    project.write("main.c", '#include "kws.h"\nint main(void) { return kws_run() == A ? 0 : 1; }\n')
    assert "LINK app.elf" in project.build()
    assert project.build() == []


def test_a_compiler_cache_or_a_distributor_before_the_compiler_sees_the_generated_files(project):
    launcher = project.write("bin/ccache", '#!/bin/sh\necho "$*" >>log\nexec "$@"\n')
    launcher.chmod(0o755)
    project.sconstruct("env['CC'] = [File('bin/ccache').abspath, 'cc']\n" + MODEL_LINES + "env.AidgeCheck(app)")
    assert project.build()[-1:] == ["CHECK app.elf"]
    assert sum(line.startswith("cc -o kws") and " -c " in line for line in project.read("log").splitlines()) == 2
