# SPDX-License-Identifier: MIT
"""A build that dies between the begin of a link and the end of its check leaves no program that the next one takes for done."""

from __future__ import annotations

import shutil
import sys

import pytest

from aidge_build.base.installed import cmake_folder
from tests.build.checkout import ROOT
from tests.build.conftest import LINK_THAT_DIES, STUB, Project
from tests.build.known_compiler import WORKS, begin_build

SCONS = (sys.executable, "-m", "SCons", "-Q")
CHECKED = "app = env.Program('app.elf', ['main.c', env.AidgeModel('kws', 'kws.onnx')])\nenv.AidgeCheck(app)\n"
ALL_TARGETS = (
    "app = env.Command('app.elf', env.Object(['main.c', *env.AidgeModel('kws', 'kws.onnx')]), '$LINK -o $TARGETS $SOURCES')\n"
    "env.AidgeCheck(app)\n"
)


def with_a_link_that_dies(project: Project, lines: str) -> bytes:
    """The project with such a linker, built; the program."""
    project.write("link.sh", LINK_THAT_DIES)
    project.sconstruct("env['LINK'] = 'sh link.sh'\n" + lines)
    project.build()
    return (project.folder / "app.elf").read_bytes()


@pytest.mark.parametrize("lines", [CHECKED, ALL_TARGETS], ids=["findings are a target", "the command names all targets"])
def test_scons_links_again_what_a_killed_linker_left(project, lines):
    program = with_a_link_that_dies(project, lines)
    project.build("-c")
    project.killed(*SCONS)
    assert (project.folder / "app.elf").read_bytes() == b"half"
    assert project.build()[-1] == "CHECK app.elf" and (project.folder / "app.elf").read_bytes() == program
    assert project.build() == []


@pytest.mark.parametrize("lines", [CHECKED, ALL_TARGETS], ids=["findings are a target", "the command names all targets"])
def test_scons_links_again_what_a_killed_check_left_though_all_is_again_as_it_was(project, lines):
    lines = lines.replace("$LINK -o", "$LINK $LINKFLAGS -o")
    project.sconstruct("env['LINKFLAGS'] = ['-g', *ARGUMENTS.get('flags', '').split()]\n" + lines)
    project.build()
    program = (project.folder / "app.elf").read_bytes()
    project.killed(*SCONS, "flags=-Wl,--defsym=other=1")
    assert (project.folder / "app.elf").read_bytes() != program
    assert project.build()[-1] == "CHECK app.elf" and (project.folder / "app.elf").read_bytes() == program
    assert project.build() == [] and not list(project.folder.glob("*.unchecked"))


MAKEFILE = f"""\
AIDGE = {sys.executable} {STUB}
include {ROOT}/integrations/make/aidge.mk
$(eval $(call aidge_model,kws,models/kws.onnx,--board=host))
all: out/app.elf
out/app.elf: main.o $(AIDGE_OBJECTS)
	sh link.sh -o $@ $^
	$(AIDGE_CHECK)
main.o: $(AIDGE_HEADERS)
"""


@pytest.mark.skipif(shutil.which("make") is None or " " in str(ROOT), reason="needs make, and a checkout without spaces")
def test_make_links_again_what_a_killed_link_or_check_left(firmware):
    firmware.write("link.sh", LINK_THAT_DIES)
    firmware.write("out/readme", "")
    firmware.write("Makefile", MAKEFILE)
    program = firmware.folder / "out/app.elf"
    firmware.killed("make")
    assert program.read_bytes() == b"half"
    assert " check " in firmware.run("make").output and program.read_bytes()[1:4] == b"ELF"
    program.unlink()
    firmware.write("link.sh", 'exec cc "$@"\n')
    firmware.killed("make")
    assert program.exists()
    assert " check " in firmware.run("make").output and firmware.run("make").output == "make: Nothing to be done for 'all'.\n"


CMAKELISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware LANGUAGES C)
find_package(aidge_build CONFIG REQUIRED)
aidge_add_model(kws MODEL models/kws.onnx)
add_executable(app main.c)
target_link_libraries(app PRIVATE kws)
aidge_check_memory(app kws)
"""


@pytest.mark.skipif(not all(map(shutil.which, ("cmake", "ninja", "make"))), reason="needs cmake, ninja and make")
@pytest.mark.parametrize("generator", ["Ninja", "Ninja Multi-Config", "Unix Makefiles"])
def test_cmake_links_again_what_a_killed_check_left(firmware, generator):
    firmware.write("CMakeLists.txt", CMAKELISTS)
    words = (f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={sys.executable};{STUB}", WORKS)
    begin_build(firmware.folder / "build", generator)
    configured = firmware.run("cmake", "-S", ".", "-B", "build", "-G", generator, *words)
    assert configured.exit_code == 0, configured.output
    firmware.run("cmake", "--build", "build")
    program = next((firmware.folder / "build").rglob("app"))
    program.unlink()
    firmware.killed("cmake", "--build", "build", folder="build")
    assert program.exists()
    assert "Linking C executable" in firmware.run("cmake", "--build", "build").output
    nothing = firmware.run("cmake", "--build", "build").output
    assert program.exists() and "Linking" not in nothing and ("no work to do" in nothing or "Built target app" in nothing)
