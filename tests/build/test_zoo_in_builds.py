# SPDX-License-Identifier: MIT
"""`zoo:NAME` in a SConstruct and in a CMakeLists.txt: the file that comes with the tool is a source of the build."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from aidge_build.base.zoo import entry, names
from tests.build.conftest import Project
from tests.build.test_cmake import CMAKELISTS, Firmware, new_firmware

IN_SCONS = """
env['NAME'] = 'gas'
for name in {names}:
    model = env.AidgeModel(name, ['zoo:$NAME'] if name == 'gas' else 'zoo:' + name, cpu='cortex-m4')
    figures = env.AidgeAccuracy(model, 'zoo:' + name + '/test.npz')
    print('sources', *figures.sources)
"""
COMMAND = str(Path(sys.executable).with_name("aidge-build"))
IN_CMAKE = CMAKELISTS.replace("models/kws.onnx KERNEL_PATH kernels", "zoo:keyword CPU cortex-m4")


def test_scons_reads_the_files_that_the_command_means(project: Project, command):
    project.sconstruct(IN_SCONS.format(names=names()), settings="")
    run = project.scons("-n", "-Q")
    assert run.exit_code == 0, run.output
    wanted = [f"sources {entry(name).model} {entry(name).samples}" for name in names()]
    assert re.findall("^sources .*", run.output, re.MULTILINE) == wanted


def test_scons_refuses_a_name_that_is_none_and_a_tool_whose_files_it_cannot_find(project: Project, command):
    for word in ("zoo:keywrd", "zoo:keywrd/test.npz"):
        project.sconstruct(f"env.AidgeModel('kws', {word!r})", settings="")
        assert f"{word}: did you mean 'keyword'? models of the zoo: {', '.join(names())}" in project.scons("-n").output
    project.sconstruct("env.AidgeModel('kws', 'zoo:keyword/t.npz')", settings="")
    assert "zoo:keyword/t.npz: a model of the zoo has no 't.npz'; its samples: zoo:keyword/test.npz" in project.scons("-n").output
    project.sconstruct("env.AidgeModel('zoo:keyword', 'kws')", settings="")
    assert "the name comes first: env.AidgeModel('kws', 'zoo:keyword')" in project.scons("-n").output
    project.sconstruct("env.AidgeModel('kws', 'zoo:keyword')")
    assert "is not found; name the file: aidge-build list zoo keyword" in project.scons("-n").output


@pytest.fixture
def firmware(tmp_path: Path) -> Firmware:
    return new_firmware(tmp_path, "Ninja")


def test_cmake_generates_again_and_looks_for_the_file_again_when_it_changes(firmware, command, tmp_path):
    firmware.write("CMakeLists.txt", IN_CMAKE + "aidge_accuracy(kws LABELS zoo:keyword/test.npz)\n")
    run = firmware.configure(command=COMMAND)
    assert run.exit_code == 0, run.output
    rules = (firmware.folder / "build/build.ninja").read_text()
    model, samples = entry("keyword").model, entry("keyword").samples
    assert re.search(rf"^build aidge/kws/kws\.stamp.*: CUSTOM_COMMAND {re.escape(str(model))} ", rules, re.MULTILINE)
    assert re.search(rf"^build aidge/kws/kws\.accuracy\.json.*: CUSTOM_COMMAND .*{re.escape(str(samples))}", rules, re.MULTILINE)
    (again,) = re.findall(r"^build build\.ninja: RERUN_CMAKE .*", rules, re.MULTILINE)
    assert f" {model} " in again and f" {samples} " in again


def test_cmake_refuses_a_name_that_is_none(firmware, command):
    firmware.write("CMakeLists.txt", IN_CMAKE.replace("zoo:keyword", "zoo:keywrd"))
    run = firmware.configure(command=COMMAND)
    assert run.exit_code != 0 and "MODEL: aidge-build: zoo:keywrd: there is no model 'keywrd' in the zoo" in " ".join(
        run.output.split()
    )
