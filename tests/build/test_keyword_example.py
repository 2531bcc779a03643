# SPDX-License-Identifier: MIT
"""examples/keyword: samples in, a label out, built, checked and run; its model is what its script writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.checkout import ROOT
from tests.programs import needs_cross_compiler, needs_qemu

EXAMPLE = ROOT / "examples" / "keyword"


def ran(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-B", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "keyword", ignore=shutil.ignore_patterns("build", ".*", "__pycache__"))
    return tmp_path / "keyword"


@needs_cross_compiler
@needs_qemu
def test_the_firmware_is_checked_and_hears_the_words_that_training_never_saw(folder):
    printed = ran(folder, "-m", "SCons", "-Q", f"support={ROOT / 'boards'}", "run")
    assert "CHECK  build/firmware.elf" in printed and "state 648 B = plan" in printed
    assert "(noise) ya oui sa us " in printed and "10 of 10 right" in printed
    assert "10 of 10" in (EXAMPLE / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="AIDGE_STRESS=1 trains the key-word network again")
def test_training_again_gives_the_bytes_of_the_committed_model(folder):
    ran(folder, "train.py", "again.onnx")
    assert (folder / "again.onnx").read_bytes() == (EXAMPLE / "keyword.onnx").read_bytes()
