# SPDX-License-Identifier: MIT
"""The CMake example with the real generator: it builds, its check holds, and it runs on the emulated board."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aidge_build.base.installed import cmake_folder
from tests.build.known_compiler import begin_build
from tests.programs import needs_cross_compiler
from tests.served import served
from tests.tflite_files import fully_connected

PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(firmware LANGUAGES C)
find_package(aidge_build 0.1 CONFIG REQUIRED)
aidge_add_model(net MODEL net.tflite)
add_executable(app main.c)
target_link_libraries(app PRIVATE net)
aidge_check_memory(app net)
"""
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cmake"


def cmake(*words: object) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=EXAMPLE, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@needs_cross_compiler
def test_the_example_runs_on_the_emulated_board_and_a_null_build_does_nothing(tmp_path):
    for program in ("cmake", "ctest", "ninja"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    where = f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={';'.join(served('aidge_build'))}"
    cmake("cmake", "--preset", "stm32f7", "-B", tmp_path, *where)
    first = cmake("cmake", "--build", tmp_path)
    assert re.search(r"arena digits +[0-9,]+ B = plan", first)
    assert "450 images, 445 correct" in cmake("ctest", "--test-dir", tmp_path, "--verbose")
    assert "no work to do" in cmake("cmake", "--build", tmp_path)


def test_a_tflite_file_is_a_source_and_new_weights_compile_one_file(tmp_path):
    for program in ("cmake", "ninja"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(PROJECT)
    (source / "main.c").write_text('#include "net.h"\nint main(void) { int8_t x[8] = {0}, y[2]; return net_run(x, y); }\n')
    (source / "net.tflite").write_bytes(fully_connected())
    where = f"-Daidge_build_DIR={cmake_folder()}", f"-DAIDGE_EXECUTABLE={';'.join(served('aidge_build'))}"
    begin_build(build, "Ninja")
    cmake("cmake", "-G", "Ninja", "-S", source, "-B", build, *where)
    assert "net.c" in cmake("cmake", "--build", build)
    assert "no work to do" in cmake("cmake", "--build", build)
    (source / "net.tflite").write_bytes(fully_connected(exchanged=True))
    compiled = re.findall(r"Building C object \S*/(\S+)\.o", cmake("cmake", "--build", build))
    assert compiled == ["net_weights.c"]
