# SPDX-License-Identifier: MIT
"""examples/keyword: samples in, a label out, built, checked and run; its model is what its script writes."""

from __future__ import annotations

import os
import sys

import pytest

from tests.build.checkout import ROOT, copy_of_example, run_in, scons_in
from tests.programs import needs_cross_compiler, needs_qemu

EXAMPLE = ROOT / "examples" / "keyword"


@pytest.fixture
def folder(tmp_path):
    return copy_of_example("keyword", tmp_path)


@needs_cross_compiler
@needs_qemu
def test_the_firmware_is_checked_and_hears_the_words_that_training_never_saw(folder):
    printed = scons_in(folder, f"support={ROOT / 'boards'}", "run")
    assert "CHECK  build/firmware.elf" in printed and "state 668 B = plan" in printed
    assert "(noise) ya oui sa us " in printed and "10 of 10 right" in printed
    assert "10 of 10" in (EXAMPLE / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="AIDGE_STRESS=1 trains the key-word network again")
def test_training_again_gives_the_bytes_of_the_committed_model(folder):
    run_in(folder, sys.executable, "train.py", "again.onnx")
    assert (folder / "again.onnx").read_bytes() == (EXAMPLE / "keyword.onnx").read_bytes()
