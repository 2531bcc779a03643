# SPDX-License-Identifier: MIT
"""examples/training: one command from train.py to a program that is checked and right often enough."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.build.checkout import ROOT, copy_of_example, scons_in
from tests.programs import needs_cross_compiler


def scons(folder: Path) -> str:
    return scons_in(folder, f"support={ROOT / 'boards'}")


@pytest.mark.skipif("AIDGE_STRESS" not in os.environ, reason="trains a network: AIDGE_STRESS=1")
@needs_cross_compiler
def test_one_command_trains_quantizes_builds_checks_and_measures_and_does_only_what_a_change_needs(tmp_path):
    folder = copy_of_example("training", tmp_path)
    first = scons(folder)
    assert "epoch 10 of 10" in first and "CHECK  build/firmware.elf" in first and "none of them was in calibration" in first
    stages = json.loads((folder / "build/model/digits.accuracy.json").read_text())["stages"]
    trained, emulated = stages[0]["top1"], stages[-1]["top1"]
    assert (stages[0]["name"], stages[-1]["name"]) == ("float", "stm32f7") and trained["count"] == emulated["count"] == 450
    assert trained["share"] >= 0.97 and emulated["share"] >= trained["share"] - 0.005
    assert "is up to date" in scons(folder)

    (folder / "calibrate.py").write_text((folder / "calibrate.py").read_text().replace("COUNT = 200", "COUNT = 60"))
    weights = (folder / "build/model/digits_weights.c").read_text()
    again = scons(folder)
    assert (
        "epoch" not in again
        and "AIDGE  build/digits.onnx" in again
        and "digits_weights.o" in again
        and "CHECK  build/firmware.elf" in again
    )
    assert (folder / "build/model/digits_weights.c").read_text() != weights
    assert "is up to date" in scons(folder)
