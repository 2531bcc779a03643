# SPDX-License-Identifier: MIT
"""The dependency facts with the real generator and a real model, on the host."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.programs import needs_cross_compiler
from tests.served import served
from tests.tflite_files import fully_connected

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
COMMAND = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom aidge_build.cli import main\nsys.exit(main())\n"
# Prints the two answers to an image of zeros.
MAIN = """#include <stdio.h>
#include "digits.h"
#include "twin.h"
int main(void)
{
    static int8_t image[DIGITS_INPUT_SIZE];
    int8_t one[DIGITS_OUTPUT_SIZE], two[TWIN_OUTPUT_SIZE];
    if (digits_run(image, one) != 0 || twin_run(image, two) != 0) return 1;
    for (int i = 0; i < DIGITS_OUTPUT_SIZE; i++) printf("%d %d\\n", one[i], two[i]);
    return 0;
}
"""


def with_other_weights() -> bytes:
    """The model with two weights of its first layer exchanged: no scale, sum or range changes."""
    model = onnx.load(DIGITS)
    weights = next(
        tensor for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.INT8 and len(tensor.dims) == 4
    )
    content = bytearray(weights.raw_data)
    second = next(index for index in range(1, 9) if content[index] != content[0])
    content[0], content[second] = content[second], content[0]
    weights.raw_data = bytes(content)
    return model.SerializeToString()


@pytest.fixture
def firmware(project):
    """A host program with two models, made by the real command."""
    project.write("main.c", MAIN)
    shutil.copy(DIGITS, project.folder / "digits.onnx")
    project.write("twin.onnx", with_other_weights())
    project.sconstruct(
        "app = env.Program('app.elf', ['main.c', 'digits.onnx', env.AidgeModel('twin', 'twin.onnx')])\nenv.AidgeCheck(app)",
        settings=f"AIDGE_BUILD={served('aidge_build')},",
    )
    return project


def test_two_models_in_one_firmware_are_both_right_and_a_null_build_does_nothing(firmware):
    firmware.build()
    findings = json.loads(firmware.read("app.elf.check.json"))
    assert findings["ok"] and sorted(model["model"] for model in findings["models"]) == ["digits", "twin"]
    answers = subprocess.run([firmware.folder / "app.elf"], capture_output=True, text=True, check=True).stdout.split()
    assert answers[0::2] == run_alone(firmware, "digits") and answers[1::2] == run_alone(firmware, "twin")
    assert firmware.build() == []


def run_alone(firmware, name: str) -> list[str]:
    """The answers of one model by onnxruntime."""
    session = onnxruntime.InferenceSession(firmware.folder / f"{name}.onnx", providers=["CPUExecutionProvider"])
    return [str(value) for value in session.run(None, {"image": np.zeros((1, 1, 8, 8), np.int8)})[0].ravel()]


def test_a_change_of_weights_alone_runs_the_generator_one_compile_and_the_link(firmware):
    firmware.build()
    firmware.write("digits.onnx", with_other_weights())
    assert firmware.build() == ["AIDGE digits.c", "CC digits_weights.o", "LINK app.elf", "CHECK app.elf"]


def test_a_tflite_file_is_a_source_by_its_name_and_new_weights_compile_one_file(project):
    project.write("main.c", '#include "net.h"\nint main(void) { int8_t x[8] = {0}, y[2]; return net_run(x, y); }\n')
    project.write("net.tflite", fully_connected())
    project.sconstruct(
        "app = env.Program('app.elf', ['main.c', 'net.tflite'])\nenv.AidgeCheck(app)",
        settings=f"AIDGE_BUILD={served('aidge_build')},",
    )
    assert "AIDGE net.c" in project.build()
    assert project.build() == []
    project.write("net.tflite", fully_connected(exchanged=True))
    assert project.build() == ["AIDGE net.c", "CC net_weights.o", "LINK app.elf", "CHECK app.elf"]


def test_a_refused_model_is_one_line_and_leaves_nothing(firmware):
    firmware.write("twin.onnx", b"version https://git-lfs.github.com/spec/v1\n")
    run = firmware.scons()
    assert run.exit_code == 2
    assert "twin.onnx" in next(line for line in run.output.splitlines() if line.startswith("aidge-build:"))
    assert not list(firmware.folder.glob("twin*.[ch]"))


def test_the_depfile_names_everything_that_was_read(tmp_path):
    stamp, depfile = tmp_path / "stamp", tmp_path / "depfile"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "aidge_build",
            "compile",
            DIGITS,
            "--board=mps2-an386",
            f"--out={tmp_path}",
            f"--depfile={depfile}",
            f"--stamp={stamp}",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    read = {path.replace("\\ ", " ") for path in depfile.read_text().split(": ", 1)[1].strip().split(" \\\n ")}
    package = ROOT / "aidge_build"
    expected = [
        DIGITS,
        ROOT / "boards/mps2-an386.toml",
        ROOT / "boards/bases/mps2.toml",
        ROOT / "kernels/ref/library.toml",
        ROOT / "kernels/ref/int8/conv2d_int8.h",
        ROOT / "kernels/kit/requantize.h",
        ROOT / "kernels/ref",
        package / "build/compile.py",
        package / "plan/memory/planner.py",
        package / "base/templates/model.c.j2",
        package / "operators",
        package / "operators/conv.py",
    ]
    assert {str(path) for path in expected} - read == set()
    assert not [path for path in read if not Path(path).exists()]


@needs_cross_compiler
def test_a_foreign_firmware_gets_the_kernels_for_the_core_that_its_flags_name(firmware):
    firmware.write("main.c", '#include "digits.h"\nint main(void) { return digits_run((const int8_t *)0, (int8_t *)0); }\n')
    machine = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
    firmware.write(
        "SConstruct",
        firmware.read("SConstruct").partition("app =")[0]
        + f"env.Replace(CC='arm-none-eabi-gcc', CCFLAGS={machine} + ['-O1'], LINKFLAGS={machine} + ['--specs=nosys.specs'])\n"
        "app = env.Program('app.elf', ['main.c', 'digits.onnx'])\nenv.AidgeCheck(app)\n",
    )
    assert "CHECK app.elf" in firmware.build()
    assert "cortexm" in {layer["library"] for layer in json.loads(firmware.read("digits.plan.json"))["layers"]}
