# SPDX-License-Identifier: MIT
"""What the tool costs a build in which nothing changed: CPU time of 200 C files with and without five models.

A measurement wants a quiet machine: it runs with AIDGE_STRESS=1, as `./sconsw stress` does.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aidge_build import scons_toolpath
from aidge_build.base.installed import cmake_folder
from tests.build.checkout import ROOT

pytestmark = pytest.mark.skipif(not os.environ.get("AIDGE_STRESS"), reason="a benchmark: AIDGE_STRESS=1")
FILES, MODELS, RUNS = 200, 5, 9
# Python keeps what it compiled, as it does for users.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPATH": str(ROOT)}
SCONSTRUCT = """\
env = Environment(tools=['gcc', 'gnulink'], ENV={{'PATH': {path!r}}}, CPPPATH=['.'],
                  CCFLAGS=['-DMODELS=' + ARGUMENTS.get('models', '0')])
sources = ['main.c'] + ['file%d.c' % i for i in range({files})]
if int(ARGUMENTS.get('models', '0')):
    env.Tool('aidge', toolpath=[{toolpath!r}])
    sources += [env.AidgeModel('model%d' % i, 'model%d.onnx' % i) for i in range({models})]
build = 'build' + ARGUMENTS.get('models', '0') + '/'
app = env.Program(build + 'app', [env.Object(build + str(source) + '.o', source) for source in Flatten(sources)])
if int(ARGUMENTS.get('models', '0')):
    env.AidgeCheck(app)
"""
CMAKELISTS = """\
cmake_minimum_required(VERSION 3.20)
project(firmware LANGUAGES C)
file(GLOB sources file*.c)
add_executable(app main.c ${sources})
target_compile_definitions(app PRIVATE MODELS=${MODELS})
if(MODELS)
  find_package(aidge_build CONFIG REQUIRED)
  foreach(index RANGE 4)
    aidge_add_model(model${index} MODEL model${index}.onnx)
    target_link_libraries(app PRIVATE model${index})
  endforeach()
  aidge_check_memory(app model0 model1 model2 model3 model4)
else()
  foreach(index RANGE 4)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/model${index}.c "int model${index};")
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/model${index}_weights.c "int weights${index};")
    add_library(model${index} STATIC ${CMAKE_CURRENT_BINARY_DIR}/model${index}.c
        ${CMAKE_CURRENT_BINARY_DIR}/model${index}_weights.c)
    target_link_libraries(app PRIVATE model${index})
  endforeach()
endif()
"""
MAKEFILE = """\
BUILD = gnu$(MODELS)
CPPFLAGS += -DMODELS=$(MODELS)
OBJECTS = $(patsubst %.c,$(BUILD)/%.o,main.c $(wildcard file*.c))
all: $(BUILD)/app
ifneq ($(MODELS),0)
AIDGE = {python} -m aidge_build
AIDGE_OUT = $(BUILD)/aidge
include {folder}/integrations/make/aidge.mk
$(foreach index,0 1 2 3 4,$(eval $(call aidge_model,model$(index),model$(index).onnx,--board=host)))
$(BUILD)/main.o: $(AIDGE_HEADERS)
endif
$(BUILD)/app: $(OBJECTS) $(AIDGE_OBJECTS)
	$(CC) -o $@ $^ -lm
	$(if $(AIDGE_OBJECTS),$(AIDGE_CHECK))
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -c $(CPPFLAGS) -MMD -o $@ $<
-include $(OBJECTS:.o=.d)
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    for index in range(20):
        (folder / f"header{index}.h").write_text(f"int function{index}(int);\n")
    includes = "".join(f'#include "header{index}.h"\n' for index in range(20))
    for index in range(FILES):
        (folder / f"file{index}.c").write_text(f"{includes}int value{index} = {index};\n")
    runs = "".join(f"int model{index}_run(const int8_t *, int8_t *);\n" for index in range(MODELS))
    calls = " + ".join(f"model{index}_run(0, 0)" for index in range(MODELS))
    (folder / "main.c").write_text(
        f"#include <stdint.h>\n#if MODELS\n{runs}int main(void) {{ return {calls}; }}\n"
        "#else\nint main(void) { return 0; }\n#endif\n"
    )
    for index in range(MODELS):
        shutil.copy(ROOT / "examples/digits/digits.onnx", folder / f"model{index}.onnx")
    (folder / "CMakeLists.txt").write_text(CMAKELISTS)
    (folder / "Makefile").write_text(MAKEFILE.format(python=sys.executable, folder=ROOT))
    (folder / "SConstruct").write_text(
        SCONSTRUCT.format(path=os.environ["PATH"], files=FILES, models=MODELS, toolpath=scons_toolpath())
    )
    return folder


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def cpu_seconds(commands: list[list[str]], folder: Path) -> list[float]:
    """User and system time of each command and all it starts: the least of several runs, which take turns."""
    best = [float("inf")] * len(commands)
    for _ in range(RUNS):
        for index, command in enumerate(commands):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run(command, folder)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best[index] = min(best[index], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def test_the_null_build_of_scons_costs_at_most_15_percent_more(command, sources):
    commands = [[sys.executable, "-m", "SCons", "-Q", f"models={number}"] for number in (0, 1)]
    for words in commands:
        run([*words, "-j2"], sources)
        assert run(words, sources).endswith("is up to date.\n")
    plain, with_models = cpu_seconds(commands, sources)
    print(f"scons: {plain:.3f} s without, {with_models:.3f} s with {MODELS} models: {with_models / plain:.3f}")
    assert with_models <= 1.15 * plain


def test_the_null_build_of_make_costs_at_most_15_percent_more(sources):
    if not shutil.which("make") or " " in str(ROOT):
        pytest.skip("needs make, and a checkout at a path without spaces: make cannot")
    commands = [["make", f"MODELS={number}"] for number in (0, 1)]
    for words in commands:
        run([*words, "-j2"], sources)
        assert run(words, sources) == "make: Nothing to be done for 'all'.\n"
    plain, with_models = cpu_seconds(commands, sources)
    print(f"make: {plain:.4f} s without, {with_models:.4f} s with {MODELS} models: {with_models / plain:.3f}")
    assert with_models <= 1.15 * plain


@pytest.mark.parametrize("generator, program", [("Ninja", "ninja"), ("Unix Makefiles", "make")])
def test_the_null_build_of_cmake_costs_at_most_15_percent_more(sources, generator, program):
    """Than with five libraries of as many files: CMake's Make generator starts two makes and a cmake for every target,
    whoever made it."""
    if not (shutil.which("cmake") and shutil.which(program)):
        pytest.skip(f"needs cmake and {program}")
    for models in (0, 1):
        build = f"{program}{models}"
        run(
            [
                "cmake",
                "-S",
                ".",
                "-B",
                build,
                "-G",
                generator,
                f"-DMODELS={models}",
                f"-Daidge_build_DIR={cmake_folder()}",
                f"-DAIDGE_EXECUTABLE={sys.executable};-m;aidge_build",
                "-DCMAKE_C_COMPILER_WORKS=1",
            ],
            sources,
        )
        run(["cmake", "--build", build, "-j2"], sources)
    seconds = cpu_seconds([["cmake", "--build", f"{program}{models}"] for models in (0, 1)], sources)
    print(f"{generator}: {seconds[0]:.3f} s without, {seconds[1]:.3f} s with {MODELS} models: {seconds[1] / seconds[0]:.3f}")
    # A few processes and hundredths of a second: the clock of the operating system counts in hundredths, too.
    assert seconds[1] <= 1.15 * seconds[0] + 0.02


def test_reading_the_tool_takes_at_most_20_milliseconds(sources):
    code = f"import sys; sys.path.insert(0, {scons_toolpath()!r}); import SCons.Script, SCons.Tool; import aidge"
    times = []
    for _ in range(RUNS):
        done = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True)
        times.append(int(re.search(r"\|\s+(\d+) \| aidge$", done.stderr, re.MULTILINE)[1]))
    print(f"import aidge: {min(times) / 1000:.1f} ms")
    assert min(times) <= 20_000
