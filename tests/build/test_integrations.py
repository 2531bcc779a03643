# SPDX-License-Identifier: MIT
"""The adapters for other build systems, in look-alikes of these systems: their own texts here, no line of theirs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.adapters import FIRST, FOLDER, STRICT, run, scons
from tests.build.checkout import ROOT
from tests.build.conftest import MAIN, MODEL, STUB, Project
from tests.build.known_compiler import begin_build

# GNU make.

needs_make = pytest.mark.skipif(
    shutil.which("make") is None or " " in str(ROOT), reason="needs make, and a checkout at a path without spaces: make cannot"
)
MAKEFILE = f"""\
CFLAGS = {STRICT}
AIDGE = {sys.executable} {STUB}
AIDGE_OUT = build/aidge
all: app.elf
include {FOLDER}/make/aidge.mk
$(eval $(call aidge_model,kws,models/kws.onnx,--board=host --optimize=speed))
app.elf: main.o $(AIDGE_OBJECTS)
\t$(CC) -o $@ $^
\t$(AIDGE_CHECK)
main.o: $(AIDGE_HEADERS)
"""


def make(project: Project) -> set[str]:
    output = run(project, "make")
    steps = {"AIDGE kws.c"} if " compile --out" in output else set()
    steps |= {f"CC {Path(name).name}" for name in re.findall(r" -c -o (\S+)", output)}
    return steps | ({"LINK app.elf"} if " -o app.elf" in output else set())


@needs_make
def test_make_runs_exactly_what_a_change_asks_for(firmware):
    firmware.write("Makefile", MAKEFILE)
    assert make(firmware) == FIRST
    assert run(firmware, "make") == "make: Nothing to be done for 'all'.\n"
    os.utime(firmware.folder / "models/kws.onnx")
    assert make(firmware) == {"AIDGE kws.c"} and make(firmware) == set()
    firmware.write("models/kws.onnx", "topology=A\nweights=2\n")
    assert make(firmware) == {"AIDGE kws.c", "CC kws_weights.o", "LINK app.elf"} and make(firmware) == set()
    firmware.write("models/kws.onnx", "topology=B\nweights=2\n")
    assert make(firmware) == {"AIDGE kws.c", "CC kws.o", "LINK app.elf"}
    firmware.write("Makefile", MAKEFILE.replace("=speed", "=size"))
    assert make(firmware) == {"AIDGE kws.c", "CC kws.o", "LINK app.elf"} and make(firmware) == set()


@needs_make
@pytest.mark.parametrize(
    "flags, option, cpu",
    [
        ("-march=rv32i -march=rv32imac -mabi=ilp32", "", "--cpu=rv32imac+ilp32"),
        ("-march=rv32imac", "", "--cpu=rv32imac"),
        ("-march=rv32imac", "--cpu=rv32i", ""),
        ("-march=armv7e-m", "", ""),
    ],
)
def test_make_reads_the_march_of_risc_v(firmware, flags, option, cpu):
    given = f"CFLAGS = {flags}\ninclude {FOLDER}/make/aidge.mk\n$(info <$(call aidge_core,{option})>)\nall: ;\n"
    firmware.write("Makefile", given)
    assert run(firmware, "make").startswith(f"<{cpu}>\n")


@needs_make
def test_make_starts_no_process_where_nothing_changed(firmware):
    firmware.write("Makefile", MAKEFILE)
    make(firmware)
    assert run(firmware, "make", "SHELL=/no/such/shell") == "make: Nothing to be done for 'all'.\n"


@needs_make
def test_make_generates_again_where_a_file_of_the_kernels_or_of_the_tool_is_gone(firmware):
    firmware.write("kernels/used.h", "int used_header;\n")
    firmware.write("Makefile", MAKEFILE.replace("--optimize=speed", "--kernel-path=kernels"))
    make(firmware)
    (firmware.folder / "kernels/used.h").unlink()
    assert make(firmware) == {"AIDGE kws.c", "CC kws.o", "LINK app.elf"} and make(firmware) == set()
    depfile = firmware.folder / "build/aidge/kws.read.d"
    package = ["/older/aidge_build/__init__.py", "/older/aidge_build/gone.py", "/older/kernels/gone.h"]
    depfile.write_text(depfile.read_text().rstrip("\n") + "".join(f" \\\n {path}" for path in package) + "\n")
    assert make(firmware) == {"AIDGE kws.c"} and make(firmware) == set()


@needs_make
@pytest.mark.parametrize("output", ["kws.h", "kws.c", "kws_weights.c", "kws.plan.json", "kws.read.d"])
def test_make_restores_a_deleted_output(firmware, output):
    firmware.write("Makefile", MAKEFILE)
    make(firmware)
    (firmware.folder / "build/aidge" / output).unlink()
    assert "AIDGE kws.c" in make(firmware)
    assert (firmware.folder / "build/aidge" / output).exists() and make(firmware) == set()


@needs_make
def test_make_compares_the_objects_of_models_with_the_program(firmware):
    firmware.write("Makefile", MAKEFILE)
    make(firmware)
    options = json.loads(firmware.read("app.elf.check.json"))["options"]
    assert options["--objects"] == ["build/aidge/kws.o", "build/aidge/kws_weights.o"]


@needs_make
def test_make_removes_a_program_that_fails_the_check(firmware):
    firmware.write("Makefile", MAKEFILE)
    firmware.write("models/kws.onnx", MODEL + "check=bad\n")
    done = subprocess.run(["make"], cwd=firmware.folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "the arena is not the plan's" in done.stderr and not (firmware.folder / "app.elf").exists()


@needs_make
def test_make_refuses_a_second_model_of_a_name_and_takes_two_folders(firmware):
    call = "$(eval $(call aidge_model,kws,models/kws.onnx,--board=host --optimize=speed))\n"
    firmware.write("Makefile", MAKEFILE.replace(call, call + call.replace("models/kws.onnx", "models/other.onnx")))
    done = subprocess.run(["make"], cwd=firmware.folder, capture_output=True, text=True, check=False)
    assert "aidge.mk: two models are called kws. Name one of them otherwise, or build its program by a make of" in done.stderr
    other = "AIDGE_OUT = build/second\n$(eval $(call aidge_model,vad,models/kws.onnx,--board=host))\n"
    firmware.write("main.c", '#include "vad.h"\n' + MAIN)
    firmware.write("Makefile", MAKEFILE.replace(call, call + other))
    assert make(firmware) == FIRST | {"CC vad.o", "CC vad_weights.o"} and make(firmware) == set()


# An RTOS whose folders define groups of sources, which one SConstruct compiles and links.

BUILDING = """\
import os
from SCons.Script import Dir, File, Glob, SConscript, Return, Split
Env, Groups = None, []

def GetCurrentDir():
    return Dir('.').srcnode().abspath

def DefineGroup(name, src, depend, **parameters):
    src = [File(source) for source in dict.fromkeys(src)]
    paths = [os.path.abspath(path) for path in parameters.get('CPPPATH', [])]
    Env.AppendUnique(CPPPATH=paths)
    Groups.extend(os.path.abspath(str(node)) for node in src + paths)
    return src

def Export(path):
    with open(path, 'w') as file:
        file.write('\\n'.join(sorted(Groups)))
"""
RTOS = f"""\
import os, sys
sys.path.insert(0, os.path.join(Dir('#').abspath, 'tools'))
import building
building.Env = Environment(tools=['gcc', 'gnulink'], ENV={{'PATH': os.environ['PATH']}}, CFLAGS='{STRICT}',
    AIDGE_BUILD=[{sys.executable!r}, {str(STUB)!r}],
                           CCCOMSTR='CC $TARGET', LINKCOMSTR='LINK $TARGET')
objects = [SConscript(folder + '/SConscript', variant_dir='build/' + folder, duplicate=0)
    for folder in ('models', 'applications')]
building.Env.Program('app.elf', objects)
building.Env.AidgeCheck('app.elf')
building.Export('project.txt')
"""


def test_a_folder_of_models_is_a_group_of_an_rtos(firmware):
    firmware.write("SConstruct", RTOS)
    firmware.write("tools/building.py", BUILDING)
    firmware.write("applications/main.c", MAIN)
    firmware.write(
        "applications/SConscript",
        "from building import *\ngroup = DefineGroup('Applications', Glob('*.c'), depend=[''])\nReturn('group')\n",
    )
    shutil.copy(FOLDER / "rt-thread/SConscript", firmware.folder / "models/SConscript")
    assert scons(firmware) == FIRST and scons(firmware) == set()
    exported = [Path(line).relative_to(firmware.folder).as_posix() for line in firmware.read("project.txt").splitlines()]
    assert (
        set(exported) >= {"build/models", "build/models/kws.c", "build/models/kws_weights.c"}
        and "models/kws.onnx" not in exported
    )
    firmware.write("models/kws.onnx", "topology=A\nweights=2\n")
    assert scons(firmware) == {"AIDGE kws.c", "CC kws_weights.o", "LINK app.elf"}
    assert sorted(path.name for path in (firmware.folder / "models").iterdir()) == ["SConscript", "kws.onnx"]


# Zephyr: flags come from an interface library; the kernel adds its modules, asks for snippets of its linker script and for what
# follows the link; the application, which is the library `app`, comes last.

ZEPHYR = f"""\
cmake_minimum_required(VERSION 3.20)
project(zephyr_like LANGUAGES C)
set(CONFIG_AIDGE_BUILD y)
set(CONFIG_AIDGE_BUILD_CHECK y)
set(CONFIG_KERNEL_BIN_NAME zephyr)
set(GCC_M_CPU cortex-m33)
set(CONFIG_FPU y)
set(CONFIG_ARM y)
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE {STRICT})
add_library(app STATIC main.c)
target_link_libraries(app PRIVATE zephyr_interface)
function(zephyr_linker_sources location file)
  file(READ "${{CMAKE_CURRENT_SOURCE_DIR}}/${{file}}" text)
  file(APPEND "${{CMAKE_BINARY_DIR}}/snippets-${{location}}.ld" "${{text}}")
endfunction()
add_subdirectory("{FOLDER}/zephyr" modules/aidge_build)
get_property(more GLOBAL PROPERTY extra_post_build_commands)
file(GENERATE OUTPUT empty.c CONTENT "")
add_executable(zephyr_final empty.c)
set_target_properties(zephyr_final PROPERTIES OUTPUT_NAME zephyr.elf)
target_link_libraries(zephyr_final PRIVATE app)
add_custom_command(TARGET zephyr_final POST_BUILD COMMAND ${{CMAKE_COMMAND}} -E copy zephyr.elf zephyr.bin ${{more}})
# The application:
"""


@pytest.fixture
def zephyr(firmware):
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")

    def configured(lines: str, configuration: str = "") -> Project:
        firmware.write("CMakeLists.txt", ZEPHYR.replace("set(CONFIG_ARM y)", configuration or "set(CONFIG_ARM y)") + lines)
        words = [f"-DAIDGE_EXECUTABLE={sys.executable};{STUB}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        begin_build(firmware.folder / "build", "Ninja")
        run(firmware, "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *words)
        return firmware

    return configured


def test_a_zephyr_application_links_a_model_that_is_compiled_with_the_boards_flags_and_checked(zephyr):
    firmware = zephyr("zephyr_aidge_model(kws MODEL models/kws.onnx)\nzephyr_aidge_check(--max-stack=512 --quiet=STK02)\n")
    assert run(firmware, "cmake", "--build", "build").count("AIDGE") == 1
    assert "--cpu=cortex-m33\n--fpu=auto\n" in firmware.read("build/aidge/kws/kws.options")
    assert firmware.read("build/compile_commands.json").count("-Wstrict-prototypes") == 3
    assert "no work to do" in run(firmware, "cmake", "--build", "build")
    assert ".note.aidge 0 : { KEEP(*(.note.aidge .aidge.note)) }" in firmware.read("build/snippets-SECTIONS.ld")
    options = json.loads(firmware.read("build/zephyr.elf.check.json"))["options"]
    assert [Path(path).name for path in options["--objects"]] == ["kws.c.o", "kws_weights.c.o"]
    assert options["--max-stack"] == ["512"] and options["--quiet"] == ["STK02"] and "--board" not in options
    zephyr("zephyr_aidge_model(kws MODEL models/kws.onnx)\nzephyr_aidge_check(--max-stack=300)\n")
    run(firmware, "cmake", "--build", "build")
    assert json.loads(firmware.read("build/zephyr.elf.check.json"))["options"]["--max-stack"] == ["300"]
    firmware.write("models/kws.onnx", "topology=A\nweights=2\ncheck=bad\n")
    done = firmware.run("cmake", "--build", "build")
    assert done.exit_code != 0 and "the arena is not the plan's" in done.output
    assert not list((firmware.folder / "build").glob("zephyr.elf")) and not list((firmware.folder / "build").glob("zephyr.bin"))


@pytest.mark.parametrize(
    "kind, words, has_note",
    [
        ("CONFIG_ARCH_POSIX", "--board=host\n", False),
        ("CONFIG_XTENSA", "--cpu=generic\n", True),
        ("riscv_mabi ilp32)\nset(riscv_march rv32imac_zicsr)\nset(CONFIG_RISCV", "--cpu=rv32imac_zicsr+ilp32\n", True),
    ],
)
def test_a_board_of_zephyr_that_is_no_cortex_m_names_its_core(zephyr, kind, words, has_note):
    firmware = zephyr("zephyr_aidge_model(kws MODEL models/kws.onnx)\n", f"set({kind} y)")
    options = firmware.read("build/aidge/kws/kws.options")
    assert words in options and "cortex" not in options
    assert (firmware.folder / "build/snippets-SECTIONS.ld").exists() is has_note  # a script for a computer goes on where it ends


@pytest.mark.parametrize(
    "fpu, core, words",
    [
        ("n", "cortex-m55", "--cpu=cortex-m55+nomve"),
        ("n", "cortex-m55+nomve.fp", "--cpu=cortex-m55+nomve"),
        ("y", "cortex-m55", ""),
    ],
)
def test_a_zephyr_application_without_the_fpu_has_no_vectors(zephyr, fpu, core, words):
    """Zephyr 4 switches MVE on for a Cortex-M55, whatever CONFIG_FPU says, and gcc has none without a hard-float ABI."""
    settings = f"set(CONFIG_ARM y)\nset(GCC_M_CPU {core})\nset(CONFIG_FPU {fpu})\nset(CONFIG_ARMV8_1_M_MVEI y)"
    options = zephyr("zephyr_aidge_model(kws MODEL models/kws.onnx)\n", settings).read("build/aidge/kws/kws.options")
    assert (words or "--cpu=cortex-m55\n--fpu=auto") + "\n" in options and options.count("--fpu") == (fpu == "y")


def test_a_zephyr_application_without_a_model_is_not_checked(zephyr):
    firmware = zephyr("")
    firmware.write("main.c", "int main(void) { return 0; }\n")
    run(firmware, "cmake", "--build", "build")
    assert not (firmware.folder / "build/zephyr.elf.check.json").exists()
