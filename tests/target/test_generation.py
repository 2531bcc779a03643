# SPDX-License-Identifier: MIT
"""The generator as a process: the same bytes everywhere, quickly, in little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import aidge_build
from tests.shared import MODELS, int8_model

ROOT = Path(__file__).resolve().parents[2]
STRESS = "AIDGE_STRESS" in os.environ
# VmHWM and not ru_maxrss: the latter also counts what the parent had in memory when it forked.
MEASURED = """
import re, resource, sys
from aidge_build.cli import main
code = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
peak = re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]
print(code, used.ru_utime + used.ru_stime, peak, file=sys.stderr)
"""


def words_for(model: Path, out: Path) -> list[str]:
    return ["compile", str(model), "--name", "net", "--out", str(out), "--lib", "ref", "--board", "stm32f7"]


def files_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def generate(model: Path, out: Path, cwd: Path, **environment) -> dict[str, bytes]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words_for(model, out)],
        check=True,
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    code, seconds, kibibytes = done.stderr.split()
    assert code == "0"
    assert float(seconds) <= 3.0 or not STRESS  # processor time; a busy machine doubles it
    assert int(kibibytes) <= 300 * 1024
    return files_of(out)


@pytest.mark.requirement("G1")
@pytest.mark.parametrize("name", MODELS if STRESS else ["ic_resnet8"])
def test_the_same_bytes_in_little_memory_whatever_the_machine_looks_like(name, tmp_path):
    """This process has another hash seed in each run of the tests."""
    other_place = tmp_path / "a folder with spaces é"
    other_place.mkdir()
    moved = other_place / "copy.onnx"
    moved.write_bytes(int8_model(name).read_bytes())
    assert aidge_build(*words_for(int8_model(name), tmp_path / "first")).exit_code == 0
    first = files_of(tmp_path / "first")
    second = generate(
        moved,
        other_place / "second",
        other_place,
        PYTHONHASHSEED="99",
        TZ="Asia/Tokyo",
        LC_ALL="C.UTF-8",
        HOME="/nonexistent",
        NPY_DISABLE_CPU_FEATURES="AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
        OPENBLAS_CORETYPE="Prescott",
        OPENBLAS_NUM_THREADS="1",
    )
    assert first == second
    for data in first.values():
        assert str(ROOT).encode() not in data and str(tmp_path).encode() not in data
