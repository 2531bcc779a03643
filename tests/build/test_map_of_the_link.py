# SPDX-License-Identifier: MIT
"""A program whose memories nobody names is linked with a map, which the check reads; the user's own map is left alone."""

from __future__ import annotations

import shutil
import sys

import pytest

from aidge_build.base.installed import cmake_folder
from tests.build.conftest import STUB
from tests.programs import needs_cross_compiler

pytestmark = needs_cross_compiler
FLAGS = ["-mcpu=cortex-m4", "-mthumb"]
SETTINGS = (
    f"AIDGE_BUILD=[{sys.executable!r}, {str(STUB)!r}], CC='arm-none-eabi-gcc', CCFLAGS={FLAGS}, "
    f"LINKFLAGS={['-nostdlib', '-Wl,-e,main', *FLAGS]},"
)
LINES = """\
kws = env.AidgeModel('kws', 'kws.onnx')
sources = env.Object('main.c') + [env.Object(file) for file in kws]
env.AidgeCheck(env.Program('app.elf', sources), models=[kws])
env.AidgeCheck(env.Program('own.elf', sources, LINKFLAGS='$LINKFLAGS -Wl,-Map=own.map'), models=[kws])
env.AidgeCheck(env.Program('named.elf', sources), models=[kws], map='own.map')
env.AidgeCheck(env.Program('regions.elf', sources), models=[kws], regions={'A': '0,9'})
env.Program('unchecked.elf', sources)
"""


def maps(folder) -> list[str]:
    return sorted(path.name for path in folder.glob("*.map"))


def test_scons_asks_the_linker_for_a_map_where_nobody_names_the_memories(project):
    project.sconstruct(LINES, SETTINGS)
    built = project.scons()
    assert "CHECK app.elf" in built.steps and "1 models, hints for SCons" in built.output and project.build() == []
    assert maps(project.folder) == ["app.elf.map", "own.map"] and "Memory Configuration" in project.read("app.elf.map")
    project.scons("-c")
    assert maps(project.folder) == ["own.map"]


@pytest.mark.parametrize(
    "linker, asked", [("armclang", False), ("ccache arm-none-eabi-g++-12", True), ("/opt/ld", False), ("clang-19", True)]
)
def test_only_linkers_that_know_the_option_are_asked(project, linker, asked):
    project.sconstruct("env.Replace(LINKCOMSTR=None, LINK=%r)\n%s" % (linker, "\n".join(LINES.splitlines()[:3])), SETTINGS)
    assert (" -Wl,-Map=app.elf.map" in project.scons("-n").output) is asked


PROJECT = f"""\
cmake_minimum_required(VERSION 3.20)
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS "{" ".join(FLAGS)}")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
project(p LANGUAGES C)
add_link_options(-nostdlib -Wl,-e,main)
include("{cmake_folder()}/aidge_build-config.cmake")
aidge_add_model(kws MODEL kws.onnx)
set_property(TARGET kws PROPERTY INTERFACE_LINK_LIBRARIES "")
foreach(name IN ITEMS app own board)
  add_executable(${{name}}.elf main.c)
  target_link_libraries(${{name}}.elf PRIVATE kws)
endforeach()
target_link_options(own.elf PRIVATE -Wl,-Map=own.map)
aidge_check_memory(app.elf kws)
aidge_check_memory(own.elf kws)
aidge_check_memory(board.elf kws BOARD stm32f4)
"""


def test_cmake_asks_the_linker_for_a_map_where_nobody_names_the_memories(project):
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")
    project.write("CMakeLists.txt", PROJECT)
    configured = project.run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", f"-DAIDGE_EXECUTABLE={sys.executable};{STUB}")
    assert configured.exit_code == 0, configured.output
    built = project.run("cmake", "--build", "build")
    assert (
        built.exit_code == 0
        and "1 models, hints for CMake" in built.output
        and maps(project.folder / "build") == ["app.elf.map", "own.map"]
    ), built.output
    assert "no work to do" in project.run("cmake", "--build", "build").output
    project.run("cmake", "--build", "build", "--target", "clean")
    assert maps(project.folder / "build") == ["own.map"]
