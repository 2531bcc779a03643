# SPDX-License-Identifier: MIT
"""Accuracy as a target of a CMake project: measured again when samples or weights change, and a limit fails the build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.build.test_cmake import CMAKELISTS, Firmware, new_firmware

CALL = "aidge_accuracy(kws LABELS data/test.npz FLOAT models/float.onnx BOARD stm32f7 MIN_TOP1 0.9)\n"


@pytest.fixture
def firmware(tmp_path: Path) -> Firmware:
    made = new_firmware(tmp_path, "Ninja")
    made.write("CMakeLists.txt", CMAKELISTS + CALL)
    made.write("data/test.npz", "samples")
    made.write("models/float.onnx", "float")
    run = made.configure()
    assert run.exit_code == 0, run.output
    return made


def measured(firmware: Firmware) -> bool:
    """Whether a build that must succeed measures."""
    run = firmware.run("cmake", "--build", "build")
    assert run.exit_code == 0, run.output
    return "ACCURACY  kws" in run.output


def test_samples_and_weights_are_measured_when_they_change(firmware):
    assert measured(firmware) and not measured(firmware)
    result = json.loads((firmware.folder / "build/aidge/kws/kws.accuracy.json").read_text())
    assert result["--labels"] == "samples" and result["--float"] == "float"
    options = result["options"]
    assert (options["--board"], options["--min-top1"], "--name" in options) == (["stm32f7"], ["0.9"], False)
    for name, content in (("data/test.npz", "others"), ("models/kws.onnx", "topology=A\nweights=2\n")):
        firmware.write(name, content)
        assert measured(firmware) and not measured(firmware)


def test_a_limit_that_is_broken_fails_the_build_until_it_is_kept(firmware):
    firmware.write("models/kws.onnx", "topology=A\nweights=1\nright=0.8\n")
    for _ in range(2):
        run = firmware.run("cmake", "--build", "build")
        assert run.exit_code != 0 and "top-1 0.8, hints for CMake" in run.output
    firmware.write("models/kws.onnx", "topology=A\nweights=1\nright=0.9\n")
    assert measured(firmware)


@pytest.mark.parametrize(
    "call, words",
    [
        ("aidge_accuracy(kws MIN_TOP1 0.9)", "aidge_accuracy(kws): LABELS <test.npz> is missing"),
        ("aidge_accuracy(app LABELS t.npz)", "'app' was not made by aidge_add_model"),
        ("aidge_accuracy(none LABELS t.npz)", "'none' was not made by aidge_add_model"),
        ("aidge_accuracy(kws LABELS t.npz MIN_TOP 1)", "unknown or without a value: MIN_TOP 1"),
        ("aidge_accuracy(kws LABELS t.npz OUT zoo:gas)", "OUT 'zoo:gas' holds what CMake or its build tool would read"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused_when_configuring(firmware, call, words):
    firmware.write("CMakeLists.txt", CMAKELISTS + call + "\n")
    run = firmware.configure()
    assert run.exit_code != 0 and words in " ".join(run.output.split())
