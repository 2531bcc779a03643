# SPDX-License-Identifier: MIT
"""The CMake example with the real generator: it builds, its check holds, and it runs on the emulated board."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import needs_cross_compiler

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
    cmake("cmake", "--preset", "stm32f7", "-B", tmp_path, f"-DAIDGE_EXECUTABLE={sys.executable};-m;aidge_build")
    first = cmake("cmake", "--build", tmp_path)
    assert re.search(r"arena digits +[0-9,]+ B = plan", first)
    assert "450 images, 445 correct" in cmake("ctest", "--test-dir", tmp_path, "--verbose")
    assert "no work to do" in cmake("cmake", "--build", tmp_path)
