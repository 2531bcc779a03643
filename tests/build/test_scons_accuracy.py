# SPDX-License-Identifier: MIT
"""Accuracy as a step of the build: when it is measured, what it gates, and which words it hands on."""

from __future__ import annotations

import json

import pytest

from tests.build.conftest import MODEL, Project

OF_MODEL = """kws = env.AidgeModel('kws', 'kws.onnx', optimize='size')
env.AidgeAccuracy(kws, 'test.npz', float='float.onnx', min_top1=0.9, max_loss=0)
app = env.Program('app.elf', ['main.c', kws])
"""
OF_PROGRAM = """kws = env.AidgeModel('kws', 'kws.onnx', cpu='cortex-m4')
app = env.Program('app.elf', ['main.c', kws])
env.AidgeAccuracy(app, 'test.npz', min_top1=0.9, board='stm32f7')
Default(app)
"""


@pytest.fixture
def firmware(project: Project) -> Project:
    project.write("test.npz", "samples")
    project.write("float.onnx", "float")
    return project


def words(project: Project) -> dict:
    return json.loads(project.read("kws.accuracy.json"))["options"]


def test_the_accuracy_of_a_model_is_measured_with_its_options_and_all_limits(firmware):
    firmware.sconstruct(OF_MODEL)
    assert "ACCURACY kws.accuracy.json" in firmware.build()
    assert words(firmware) == {
        "--out": ["kws.accuracy.json"],
        "--board": ["host"],
        "--optimize": ["size"],
        "--float": ["float.onnx"],
        "--min-top1": ["0.9"],
        "--max-loss": ["0"],
        "--labels": ["test.npz"],
    }


def test_a_second_build_measures_nothing_and_new_samples_or_weights_are_measured_again(firmware):
    firmware.sconstruct(OF_MODEL)
    firmware.build()
    assert firmware.build() == []
    for name, content in (
        ("test.npz", "others"),
        ("float.onnx", "others"),
        ("kws.onnx", MODEL.replace("weights=1", "weights=2")),
    ):
        firmware.write(name, content)
        assert "ACCURACY kws.accuracy.json" in firmware.build()
    firmware.write("main.c", firmware.read("main.c") + "/* more */\n")
    assert "ACCURACY kws.accuracy.json" not in firmware.build()


def test_a_program_is_not_linked_while_its_model_breaks_a_limit(firmware):
    firmware.sconstruct(OF_PROGRAM)
    firmware.write("kws.onnx", MODEL + "right=0.8\n")
    run = firmware.scons()
    assert run.exit_code != 0 and "top-1 0.8" in run.output and "LINK app.elf" not in run.steps
    assert not (firmware.folder / "app.elf").exists()
    firmware.write("kws.onnx", MODEL + "right=0.95\n")
    assert firmware.build()[-1] == "LINK app.elf"
    assert (words(firmware)["--board"], "--cpu" in words(firmware)) == (["stm32f7"], False)


def test_another_limit_is_checked_anew(firmware):
    firmware.sconstruct(OF_PROGRAM)
    firmware.write("kws.onnx", MODEL + "right=0.93\n")
    firmware.build()
    firmware.sconstruct(OF_PROGRAM.replace("0.9,", "0.95,"))
    assert firmware.scons().exit_code != 0


def test_a_program_is_measured_after_its_link_where_it_is_named_as_elf(firmware):
    firmware.sconstruct(
        OF_MODEL.replace("env.AidgeAccuracy(kws, 'test.npz', float='float.onnx', min_top1=0.9, max_loss=0)\n", "")
        + "env.AidgeAccuracy(kws, 'test.npz', elf=app)\n"
    )
    steps = firmware.build()
    assert steps.index("LINK app.elf") < steps.index("ACCURACY kws.accuracy.json")
    assert words(firmware)["--elf"] == ["app.elf"]
    firmware.write("main.c", firmware.read("main.c").replace("== 1", "== 1 && 1"))
    assert firmware.build()[-1] == "ACCURACY kws.accuracy.json"


@pytest.mark.parametrize(
    "call, words",
    [
        ("app = env.Program('app.elf', ['main.c', kws])\nenv.AidgeAccuracy(app, 'test.npz', elf=app)", "elf= goes with what"),
        ("env.AidgeAccuracy(kws, 'test.npz', min_top=0.9)", "AidgeAccuracy has no option 'min_top'; did you mean 'min_top1'?"),
        (
            "env.AidgeAccuracy(env.Program('other.elf', 'main.c'), 'test.npz')",
            "there are 0 models among the sources of other.elf",
        ),
        ("env.AidgeAccuracy(kws, 'test.npz', task='guess')", "AidgeAccuracy: task='guess': "),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused_in_the_sconscript(firmware, call, words):
    firmware.sconstruct("kws = env.AidgeModel('kws', 'kws.onnx')\n" + call)
    run = firmware.scons()
    assert run.exit_code == 2 and words in run.output
