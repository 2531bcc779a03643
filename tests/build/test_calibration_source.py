# SPDX-License-Identifier: MIT
"""Calibration data is a source of the build like the model, in each build system, with a stand-in for the generator."""

from __future__ import annotations

import shutil

import pytest

from tests.build.conftest import MAIN, MODEL, Project
from tests.build.test_cmake import CMAKELISTS, GENERATORS, new_firmware
from tests.build.test_integrations import MAKEFILE, make, needs_make

WEIGHTS_ONLY = ["AIDGE kws.c", "CC kws_weights.o", "LINK app.elf"]
PROGRAM = "kws = env.AidgeModel('kws', 'kws.onnx', quantize=env.File('samples.npz'))\nenv.Program('app.elf', ['main.c', kws])\n"
MADE_BY_CMAKE = """\
add_custom_command(OUTPUT samples.npz DEPENDS raw.txt
                   COMMAND "${CMAKE_COMMAND}" -E copy "${CMAKE_CURRENT_SOURCE_DIR}/raw.txt" samples.npz)
aidge_add_model(kws QUANTIZE "${CMAKE_CURRENT_BINARY_DIR}/samples.npz" """


def test_scons_quantizes_again_when_the_samples_change_and_compiles_the_weights_alone(project):
    project.write("samples.npz", "1\n")
    project.sconstruct(PROGRAM)
    assert "AIDGE kws.c" in project.build() and project.build() == []
    project.write("samples.npz", "2\n")
    assert project.build() == WEIGHTS_ONLY and project.build() == []


def test_scons_makes_the_samples_first_where_the_build_makes_them(project):
    project.write("raw.txt", "3\n")
    project.sconstruct("env.Command('samples.npz', 'raw.txt', Copy('$TARGET', '$SOURCE'))\n" + PROGRAM)
    assert "AIDGE kws.c" in project.build() and "= 3;" in project.read("kws_weights.c")
    project.write("raw.txt", "4\n")
    assert project.build() == WEIGHTS_ONLY and project.build() == []


def test_scons_takes_the_samples_that_a_command_returns_before_there_are_any(project):
    project.write("raw.txt", "3\n")
    samples = "samples = env.Command('samples.npz', 'raw.txt', Copy('$TARGET', '$SOURCE'))[0]\n"
    project.sconstruct(samples + PROGRAM.replace("env.File('samples.npz')", "samples"))
    assert "AIDGE kws.c" in project.build() and "= 3;" in project.read("kws_weights.c") and project.build() == []


def test_scons_finds_samples_that_a_variant_folder_makes(project):
    project.write(
        "sub/SConscript", "Import('env')\nenv.Command('samples.npz', 'raw.txt', Copy('$TARGET', '$SOURCE'))\n" + PROGRAM
    )
    for name, text in (("raw.txt", "3\n"), ("main.c", MAIN), ("kws.onnx", MODEL)):
        project.write(f"sub/{name}", text)
    project.sconstruct("SConscript('sub/SConscript', exports='env', variant_dir='out', duplicate=0)\n")
    assert "AIDGE kws.c" in project.build() and "= 3;" in project.read("out/kws_weights.c")


@pytest.mark.parametrize("generator", GENERATORS)
def test_cmake_quantizes_again_when_the_samples_change_and_makes_them_first(tmp_path, generator):
    firmware = new_firmware(tmp_path, generator)
    firmware.write("CMakeLists.txt", CMAKELISTS.replace("aidge_add_model(kws ", MADE_BY_CMAKE))
    firmware.write("raw.txt", "3\n")
    assert firmware.configure().exit_code == 0
    assert "AIDGE kws" in firmware.build() and firmware.build() == set()
    firmware.write("raw.txt", "4\n")
    assert firmware.build() == {"AIDGE kws", "CC kws_weights", "AR kws", "LINK app"} and firmware.build() == set()


@needs_make
def test_make_quantizes_again_when_the_samples_change_and_makes_them_first(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("needs a native C compiler (cc)")
    firmware = Project(tmp_path / "firmware")
    for name, text in (("main.c", MAIN), ("models/kws.onnx", MODEL), ("raw.txt", "3\n")):
        firmware.write(name, text)
    firmware.write("Makefile", MAKEFILE.replace("=host", "=host --quantize=samples.npz") + "samples.npz: raw.txt\n\tcp $< $@\n")
    assert "AIDGE kws.c" in make(firmware) and make(firmware) == set()
    firmware.write("raw.txt", "4\n")
    assert make(firmware) == set(WEIGHTS_ONLY) and make(firmware) == set()
